extension UTType {
  /// A type of the table, by an identifier that stands in it.
  private static func known(_ identifier: String) -> UTType {
    guard let declaration = byIdentifier[identifier] else { preconditionFailure("\(identifier) is not in the table") }
    return UTType(declaration)
  }

  public static var item: UTType { known("public.item") }
  public static var content: UTType { known("public.content") }
  public static var compositeContent: UTType { known("public.composite-content") }
  public static var data: UTType { known("public.data") }
  public static var directory: UTType { known("public.directory") }
  public static var folder: UTType { known("public.folder") }
  public static var package: UTType { known("com.apple.package") }
  public static var bundle: UTType { known("com.apple.bundle") }
  public static var url: UTType { known("public.url") }
  public static var fileURL: UTType { known("public.file-url") }
  public static var database: UTType { known("public.database") }
  public static var archive: UTType { known("public.archive") }
  public static var zip: UTType { known("public.zip-archive") }
  public static var gzip: UTType { known("org.gnu.gnu-zip-archive") }
  public static var diskImage: UTType { known("public.disk-image") }
  public static var text: UTType { known("public.text") }
  public static var plainText: UTType { known("public.plain-text") }
  public static var utf8PlainText: UTType { known("public.utf8-plain-text") }
  public static var rtf: UTType { known("public.rtf") }
  public static var html: UTType { known("public.html") }
  public static var xml: UTType { known("public.xml") }
  public static var json: UTType { known("public.json") }
  public static var yaml: UTType { known("public.yaml") }
  public static var delimitedText: UTType { known("public.delimited-values-text") }
  public static var commaSeparatedText: UTType { known("public.comma-separated-values-text") }
  public static var tabSeparatedText: UTType { known("public.tab-separated-values-text") }
  public static var log: UTType { known("public.log") }
  public static var vCard: UTType { known("public.vcard") }
  public static var calendarEvent: UTType { known("public.calendar-event") }
  public static var sourceCode: UTType { known("public.source-code") }
  public static var swiftSource: UTType { known("public.swift-source") }
  public static var javaScript: UTType { known("com.netscape.javascript-source") }
  public static var css: UTType { known("public.css") }
  public static var propertyList: UTType { known("com.apple.property-list") }
  public static var pdf: UTType { known("com.adobe.pdf") }
  public static var epub: UTType { known("org.idpf.epub-container") }
  public static var spreadsheet: UTType { known("public.spreadsheet") }
  public static var presentation: UTType { known("public.presentation") }
  public static var image: UTType { known("public.image") }
  public static var jpeg: UTType { known("public.jpeg") }
  public static var png: UTType { known("public.png") }
  public static var gif: UTType { known("com.compuserve.gif") }
  public static var tiff: UTType { known("public.tiff") }
  public static var bmp: UTType { known("com.microsoft.bmp") }
  public static var ico: UTType { known("com.microsoft.ico") }
  public static var heif: UTType { known("public.heif") }
  public static var heic: UTType { known("public.heic") }
  public static var webP: UTType { known("org.webmproject.webp") }
  public static var svg: UTType { known("public.svg-image") }
  public static var rawImage: UTType { known("public.camera-raw-image") }
  public static var dng: UTType { known("com.adobe.raw-image") }
  public static var livePhoto: UTType { known("com.apple.live-photo") }
  public static var audiovisualContent: UTType { known("public.audiovisual-content") }
  public static var movie: UTType { known("public.movie") }
  public static var video: UTType { known("public.video") }
  public static var quickTimeMovie: UTType { known("com.apple.quicktime-movie") }
  public static var mpeg4Movie: UTType { known("public.mpeg-4") }
  public static var mpeg: UTType { known("public.mpeg") }
  public static var mpeg2Video: UTType { known("public.mpeg-2-video") }
  public static var avi: UTType { known("public.avi") }
  public static var audio: UTType { known("public.audio") }
  public static var mp3: UTType { known("public.mp3") }
  public static var mpeg4Audio: UTType { known("public.mpeg-4-audio") }
  public static var wav: UTType { known("com.microsoft.waveform-audio") }
  public static var aiff: UTType { known("public.aiff-audio") }
  public static var midi: UTType { known("public.midi-audio") }
  public static var playlist: UTType { known("public.playlist") }
  public static var font: UTType { known("public.font") }
  public static var executable: UTType { known("public.executable") }
  public static var bookmark: UTType { known("public.bookmark") }
  public static var contact: UTType { known("public.contact") }
  public static var message: UTType { known("public.message") }
  public static var emailMessage: UTType { known("public.email-message") }
  public static var threeDContent: UTType { known("public.3d-content") }
  public static var usdz: UTType { known("com.pixar.universal-scene-description-mobile") }
}
