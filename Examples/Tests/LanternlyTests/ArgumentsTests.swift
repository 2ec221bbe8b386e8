import Testing

@testable import LanternlyCore

struct ArgumentsTests {
  @Test func optionsStandAnywhere() throws {
    let arguments = try Arguments(["--home", "/h", "new", "--text=a=b", "--tag", "x", "--tag", "y", "--star"])
    #expect(arguments.command == "new")
    #expect(arguments.value("home") == "/h")
    #expect(arguments.value("text") == "a=b")
    #expect(arguments.all("tag") == ["x", "y"])
    #expect(arguments.has("star"))
    #expect(try Arguments(["edit", "12", "--home=/h"]).value("home") == "/h")
  }

  @Test func twoDashesEndOptions() throws {
    #expect(try Arguments(["search", "--", "--star"]).words == ["--star"])
  }

  @Test(arguments: [
    ([], UsageError.noCommand), (["frob"], .unknownCommand("frob")),
    (["new", "--frob"], .unknownOption("frob", command: "new")),
    (["new", "--text"], .valueIsMissing(option: "text", command: "new")),
    (["new", "--star=1"], .valueIsUnwanted(option: "star", command: "new")),
    (["new", "--text", "a", "--text", "b"], .optionIsRepeated("text", command: "new")),
    (["show"], .wordIsMissing(command: "show")),
    (["list", "--home="], .valueIsMissing(option: "home", command: "list")),
    (["--home", "", "list"], .valueIsMissing(option: "home", command: "list")),
    (["show", "1", "2"], .tooManyWords("2", command: "show")),
    (["--frob", "list"], .unknownOption("frob", command: "list")),
  ]) func whatIsNotUnderstoodIsNamed(words: [String], error: UsageError) {
    #expect(throws: error) { try Arguments(words) }
  }
}
