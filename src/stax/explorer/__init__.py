"""The explorer: a local web page to look into runs, finished or running.

| module | holds |
|---|---|
| `server` | the web server: who may ask (`Guard`), and what is answered; server-sent events |
| `explored` | the runs in memory, read again when their files change |
| `data` | run folders as they are now, by their results or their last checkpoint: the one module that knows files |
| `content` | facts, curves and columns of numbers for the page; principal components |
| `worker`, `drawing` | the process that makes tasks and autoencoders; films, observations and codes |
| `packing` | messages of JSON and arrays, for the page and the worker |
| `control` | the server beside a run that was started with `--explore`, and its commands |
| `freezing` | the page with all its content as one file |
| `static/` | the page: `main.js`, the modules it imports, and a style sheet |

Decisions:

- The page uses no libraries. Some hundred lines of plain JavaScript draw maps and curves on canvases. Dots, density, lasso and
  linked hovering then stay fluid with 500,000 evaluations, the content security policy needs no exceptions, and a frozen page
  has 1 MB.
- The page gets the complete ledger, some twenty bytes an evaluation. Slider, filters and density then need no request, and work
  in a frozen page too.
- The token is a part of the path. Every relative address of the page then contains it, without cookies, and it is never sent to
  another site.
- A refusal is an ordinary answer, not an HTTP error, which browsers would report in their console.
- The task is drawn in a worker process, because it may crash, hang or take gigabytes. The server ends the worker and starts
  another. Requests and answers are arrays and JSON, so nothing is unpickled.
- Policies are evaluated again to be observed. Their snapshots may be most of the bytes of an archive, and are not kept in
  memory.
- Ground truths have linear axes. The picture of the task is placed by its edges, so points need no call of the task.
"""
