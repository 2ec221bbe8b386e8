import Foundation
import VirgaCommandLine

// sample-export FOLDER [ENTRIES [PICTURE-SIZE [SEED]]]
let words = CommandLine.arguments.dropFirst()
let numbers = words.dropFirst().map { UInt64($0) ?? 0 }
guard let folder = words.first, !numbers.contains(0) else {
  FileHandle.standardError.write(Data("usage: sample-export FOLDER [ENTRIES [PICTURE-SIZE [SEED]]]\n".utf8))
  exit(2)
}
let export = SampleExport(
  seed: numbers.count > 2 ? numbers[2] : 1, entries: numbers.count > 0 ? Int(numbers[0]) : 12,
  pictureSize: numbers.count > 1 ? Int(numbers[1]) : 64)
do {
  try export.write(to: folder)
} catch {
  FileHandle.standardError.write(Data("sample-export: \(plainText(of: error))\n".utf8))
  exit(1)
}
