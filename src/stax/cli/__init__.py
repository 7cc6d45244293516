"""The `stax` command. It is thin: what it does can be done from Python too.

`main` runs the command that was asked for and turns errors into messages and exit codes. `commands/` has a module for each
command, and `arguments` the arguments that several of them share. The other modules are displays, tables and the wording of
results.
"""
