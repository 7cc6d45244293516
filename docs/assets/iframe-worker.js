/* The search of the documentation runs in a worker, which browsers refuse to pages that are opened from the file system. There, a
   hidden frame takes its place. */
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame.contentWindow;
      const tell = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((resolve) => {
        // Browsers differ in when an empty frame is ready; a document written into it is at once.
        const page = this.frame.document;
        page.open();
        page.close();
        this.frame.postMessage = tell;
        const script = page.createElement("script");
        script.src = url;
        script.addEventListener("load", resolve);
        page.documentElement.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
