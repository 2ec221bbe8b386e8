import Glibc

exit(Bench.run(arguments: Array(CommandLine.arguments.dropFirst())))
