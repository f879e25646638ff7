"""Recording a whole program and its child processes: `kinetograph run`.

The launcher starts the program as a Python of its own. In that Python, and in every one that the program
starts, `kinetograph.pth` finds the name of the run's directory in the environment, and `bootstrap` begins a
session whose memory is a file there. Nothing has to happen when a process ends, however it ends; `collect`
makes one trace of the files.
"""
