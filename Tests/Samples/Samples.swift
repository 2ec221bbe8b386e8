import CloudKit

/// Small apps as they are written for Apple's systems, compiled unedited in the language modes of Swift 5 and Swift 6.
/// Each runs as one launch on one device: its name, the folder of its own data, and what its user does.
@main
struct Samples {
  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count >= 3 else { return print("usage: samples APP FOLDER ACTION…") }
    let folder = URL(fileURLWithPath: words[1], isDirectory: true)
    let action = words[2]
    let rest = Array(words.dropFirst(3))
    do {
      switch words[0] {
      case "contacts": try await contactsApp(folder, action, rest)
      case "pantry": try await pantryApp(folder, action, rest)
      case "albums": try await albumsApp(folder, action, rest)
      case "stations": try await stationsApp(action, rest)
      case "photos": try await photosApp(folder, action, rest)
      case "vault": try await vaultApp(action, rest)
      case "ledger": ledgerApp(action, rest)
      case "pulse": try await pulseApp(folder, action, rest)
      case "tasks": try await tasksApp(folder, action, rest)
      case "merge": try await mergeApp(folder, action, rest)
      default: print("no such app")
      }
    } catch {
      print("error: \(error)")
      exit(1)
    }
  }
}
