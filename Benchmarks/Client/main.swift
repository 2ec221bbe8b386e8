import Glibc

exit(await ClientBench.run(arguments: Array(CommandLine.arguments.dropFirst())))
