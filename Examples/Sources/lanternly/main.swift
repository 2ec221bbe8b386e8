import Foundation
import LanternlyCore

// A diary is nobody else's to read, whatever folder it was given.
umask(0o077)
exit(await Lanternly.run(Array(CommandLine.arguments.dropFirst()), .process()))
