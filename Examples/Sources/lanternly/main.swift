import Foundation
import LanternlyCore

exit(await Lanternly.run(Array(CommandLine.arguments.dropFirst()), .process()))
