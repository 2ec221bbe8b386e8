import Glibc

exit(await Bench.run(arguments: Array(CommandLine.arguments.dropFirst())))
