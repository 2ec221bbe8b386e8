import Testing

@testable import LanternlyCore

struct DayOneTextTests {
  static let entry = EntryID("e")
  static let photo = AttachmentID("p1")
  static let targets: [String: DayOneText.Target] = [
    "AAA1": (photo, .photo), "BBB2": (AttachmentID("v1"), .video), "CCC3": (AttachmentID("a1"), .audio),
    "DDD4": (AttachmentID("d1"), .pdf),
  ]

  /// C99: every form of the link, in place and in order.
  @Test(arguments: [
    ("![](dayone-moment://AAA1)", "![](attachment:p1)"),
    ("x ![a lake](dayone-moment://AAA1) y", "x ![a lake](attachment:p1) y"),
    ("![](dayone-moment:/photo/AAA1)", "![](attachment:p1)"),
    ("![](dayone-moment:/video/BBB2)", "[](attachment:v1)"),
    ("![](dayone-moment:/audio/CCC3)", "[](attachment:a1)"),
    ("![](dayone-moment:/pdfAttachment/DDD4)", "[](attachment:d1)"),
    (#"\!\[\]\(dayone\-moment:\/\/AAA1\)"#, "![](attachment:p1)"),
    (#"![](dayone-moment:\/\/AAA1)"#, "![](attachment:p1)"),
    (#"\!\[\]\(dayone\-moment:/video/BBB2\)"#, "[](attachment:v1)"),
    ("see dayone-moment://AAA1.", "see ![](attachment:p1)."),
    ("![](dayone-moment://BBB2)\n\n![](dayone-moment://AAA1)", "[](attachment:v1)\n\n![](attachment:p1)"),
    (
      "[Oct 12](dayone2://view?entryId=0BDDD6CDA43C4A9AA2681517CC35AD9D)",
      "[Oct 12](entry:0bddd6cda43c4a9aa2681517cc35ad9d)"
    ),
    ("broken: dayone-moment://", "broken: attachment:"),
  ]) func linksToMediaAreReplacedInPlace(source: String, expected: String) {
    var converter = DayOneText(entry: Self.entry, targets: Self.targets)
    #expect(converter.convert(source, hasEscapes: true) == expected)
    #expect(converter.unknown.isEmpty)
  }

  /// C99: an unknown identifier leaves a place for it and is told.
  @Test func unknownIdentifierLeavesAPlaceholder() {
    var converter = DayOneText(entry: Self.entry, targets: Self.targets)
    let text = converter.convert("a ![](dayone-moment://EEE5) b", hasEscapes: true)
    #expect(text == "a ![](attachment:\(AttachmentID.imported(entry: Self.entry, identifier: "EEE5").name)) b")
    #expect(converter.unknown == ["EEE5"])
  }

  /// C100: punctuation is unescaped once; what was never escaped, paths and code stay.
  @Test(arguments: [
    (#"Yes\. No\! rabbit\-hole \(well\) \[x\] 1 \+ 1"#, "Yes. No! rabbit-hole (well) [x] 1 + 1"),
    ("e-reader, 30-minutes", "e-reader, 30-minutes"),
    (#"C:\Users\anna\notes.txt"#, #"C:\Users\anna\notes.txt"#),
    (#"\\server\share"#, #"\\server\share"#),
    (#"\\."#, #"\\."#),
    (##"keep \* and \_ and \# and \`"##, ##"keep \* and \_ and \# and \`"##),
    ("```\na\\.b\n```\nc\\.d", "```\na\\.b\n```\nc.d"),
    ("use `a\\.b` here\\.", "use `a\\.b` here."),
    ("text\n\n    code\\.\n\nmore\\.", "text\n\n    code\\.\n\nmore."),
    ("- a\n\n    still the list\\.", "- a\n\n    still the list."),
    (#"a\/b dot\."#, "a/b dot."),
    (#"ends with \"#, #"ends with \"#),
    ("", ""),
  ]) func escapesAreUndoneOnce(source: String, expected: String) {
    #expect(MarkdownEscapes.undone(source) == expected)
  }
}
