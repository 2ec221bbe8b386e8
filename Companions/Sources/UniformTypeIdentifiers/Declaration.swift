import Foundation

/// What is known of a type.
struct Declaration: Sendable {
  let identifier: String
  let name: String?
  let parents: [String]
  let extensions: [String]
  let mimeTypes: [String]

  init(
    _ identifier: String, _ name: String, _ parents: [String], _ extensions: [String] = [], _ mimeTypes: [String] = []
  ) {
    self.identifier = identifier
    self.name = name
    self.parents = parents
    self.extensions = extensions
    self.mimeTypes = mimeTypes
  }

  init(ownIdentifier: String, parent: String?) {
    identifier = ownIdentifier
    name = nil
    parents = parent.map { [$0] } ?? []
    extensions = []
    mimeTypes = []
  }

  func tags(_ tagClass: UTTagClass) -> [String] {
    switch tagClass {
    case .filenameExtension: extensions
    case .mimeType: mimeTypes
    default: []
    }
  }

  /// `dyn.` and the hexadecimal bytes of "e:ext:parent" or "m:mime/type:parent". Apple's have a form of their own, which nobody
  /// should take apart there either.
  init(dynamicTag tag: String, tagClass: UTTagClass, parent: String) {
    let text = "\(tagClass == .mimeType ? "m" : "e"):\(tag):\(parent)"
    identifier = "dyn." + text.utf8.map { String(format: "%02x", $0) }.joined()
    name = nil
    parents = [parent]
    extensions = tagClass == .filenameExtension ? [tag] : []
    mimeTypes = tagClass == .mimeType ? [tag] : []
  }

  init?(dynamicIdentifier: String) {
    let digits = Array(dynamicIdentifier.utf8.dropFirst(4))
    guard dynamicIdentifier.hasPrefix("dyn."), digits.count.isMultiple(of: 2) else { return nil }
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":").map(String.init)
    guard parts.count == 3, parts[0] == "e" || parts[0] == "m", UTType.declaration(of: parts[2]) != nil else {
      return nil
    }
    self.init(
      dynamicTag: parts[1], tagClass: parts[0] == "m" ? .mimeType : .filenameExtension, parent: parts[2])
  }

  /// Types of files that apps store. Where several have one extension, the first counts.
  static let table: [Declaration] = [
    Declaration("public.item", "item", []),
    Declaration("public.content", "content", []),
    Declaration("public.composite-content", "composite content", ["public.content"]),
    Declaration("public.data", "data", ["public.item"], ["data"], ["application/octet-stream"]),
    Declaration("public.directory", "directory", ["public.item"]),
    Declaration("public.folder", "folder", ["public.directory"]),
    Declaration("com.apple.package", "package", ["public.directory"]),
    Declaration("com.apple.bundle", "bundle", ["public.directory"]),
    Declaration("public.url", "URL", ["public.data"]),
    Declaration("public.file-url", "file URL", ["public.url"]),
    Declaration("public.database", "database", ["public.data"]),
    Declaration("public.archive", "archive", ["public.data"]),
    Declaration("public.zip-archive", "ZIP archive", ["public.archive"], ["zip"], ["application/zip"]),
    Declaration(
      "org.gnu.gnu-zip-archive", "gzip archive", ["public.archive"], ["gz", "gzip"],
      ["application/gzip", "application/x-gzip"]),
    Declaration("public.tar-archive", "tar archive", ["public.archive"], ["tar"], ["application/x-tar"]),

    Declaration("public.text", "text", ["public.data", "public.content"]),
    Declaration("public.plain-text", "plain text", ["public.text"], ["txt", "text"], ["text/plain"]),
    Declaration("public.utf8-plain-text", "UTF-8 text", ["public.plain-text"]),
    Declaration("public.rtf", "rich text", ["public.text"], ["rtf"], ["text/rtf", "application/rtf"]),
    Declaration("public.html", "HTML", ["public.text"], ["html", "htm"], ["text/html"]),
    Declaration("public.xml", "XML", ["public.text"], ["xml"], ["application/xml", "text/xml"]),
    Declaration("public.json", "JSON", ["public.text"], ["json"], ["application/json"]),
    Declaration("public.yaml", "YAML", ["public.text"], ["yaml", "yml"], ["application/yaml", "application/x-yaml"]),
    Declaration("net.daringfireball.markdown", "Markdown", ["public.text"], ["md", "markdown"], ["text/markdown"]),
    Declaration("public.delimited-values-text", "delimited values", ["public.text"]),
    Declaration(
      "public.comma-separated-values-text", "comma-separated values", ["public.delimited-values-text"], ["csv"],
      ["text/csv"]),
    Declaration(
      "public.tab-separated-values-text", "tab-separated values", ["public.delimited-values-text"], ["tsv", "tab"],
      ["text/tab-separated-values"]),
    Declaration("public.log", "log", ["public.plain-text"], ["log"]),
    Declaration("public.vcard", "contact card", ["public.text"], ["vcf", "vcard"], ["text/vcard", "text/x-vcard"]),
    Declaration("public.calendar-event", "calendar event", ["public.data", "public.content"]),
    Declaration(
      "com.apple.ical.ics", "calendar file", ["public.text", "public.calendar-event"], ["ics"], ["text/calendar"]),
    Declaration("com.topografix.gpx", "GPX route", ["public.xml"], ["gpx"], ["application/gpx+xml"]),
    Declaration("public.source-code", "source code", ["public.plain-text"]),
    Declaration("public.swift-source", "Swift source", ["public.source-code"], ["swift"]),
    Declaration(
      "com.netscape.javascript-source", "JavaScript", ["public.source-code"], ["js"],
      ["text/javascript", "application/javascript"]),
    Declaration("public.css", "style sheet", ["public.text"], ["css"], ["text/css"]),
    Declaration("com.apple.property-list", "property list", ["public.data"], ["plist"]),
    Declaration("com.adobe.pdf", "PDF", ["public.data", "public.composite-content"], ["pdf"], ["application/pdf"]),
    Declaration(
      "org.idpf.epub-container", "EPUB book", ["public.data", "public.composite-content"], ["epub"],
      ["application/epub+zip"]),
    Declaration("public.spreadsheet", "spreadsheet", ["public.content"]),
    Declaration("public.presentation", "presentation", ["public.composite-content"]),

    Declaration("public.image", "image", ["public.data", "public.content"]),
    Declaration("public.jpeg", "JPEG image", ["public.image"], ["jpeg", "jpg", "jpe"], ["image/jpeg", "image/jpg"]),
    Declaration("public.png", "PNG image", ["public.image"], ["png"], ["image/png"]),
    Declaration("com.compuserve.gif", "GIF image", ["public.image"], ["gif"], ["image/gif"]),
    Declaration("public.tiff", "TIFF image", ["public.image"], ["tiff", "tif"], ["image/tiff"]),
    Declaration("com.microsoft.bmp", "BMP image", ["public.image"], ["bmp"], ["image/bmp"]),
    Declaration("com.microsoft.ico", "icon", ["public.image"], ["ico"], ["image/vnd.microsoft.icon"]),
    Declaration("public.heif", "HEIF image", ["public.image"], ["heif"], ["image/heif"]),
    Declaration("public.heic", "HEIC image", ["public.image"], ["heic"], ["image/heic"]),
    Declaration("org.webmproject.webp", "WebP image", ["public.image"], ["webp"], ["image/webp"]),
    Declaration("public.avif", "AVIF image", ["public.image"], ["avif"], ["image/avif"]),
    Declaration("public.svg-image", "SVG image", ["public.image", "public.xml"], ["svg"], ["image/svg+xml"]),
    Declaration("public.camera-raw-image", "raw image", ["public.image"]),
    Declaration("com.adobe.raw-image", "DNG image", ["public.camera-raw-image"], ["dng"], ["image/x-adobe-dng"]),
    Declaration("com.apple.live-photo", "live photo", ["public.data", "public.composite-content"]),

    Declaration("public.audiovisual-content", "audiovisual content", ["public.data", "public.content"]),
    Declaration("public.movie", "movie", ["public.audiovisual-content"]),
    Declaration("public.video", "video", ["public.movie"]),
    Declaration("com.apple.quicktime-movie", "QuickTime movie", ["public.movie"], ["mov", "qt"], ["video/quicktime"]),
    Declaration("public.mpeg-4", "MPEG-4 movie", ["public.movie"], ["mp4", "mpg4"], ["video/mp4"]),
    Declaration("public.mpeg", "MPEG movie", ["public.movie"], ["mpg", "mpeg"], ["video/mpeg"]),
    Declaration("public.mpeg-2-video", "MPEG-2 video", ["public.video"], ["m2v"], ["video/mpeg2"]),
    Declaration("com.apple.m4v-video", "M4V movie", ["public.movie"], ["m4v"], ["video/x-m4v"]),
    Declaration("public.avi", "AVI movie", ["public.movie"], ["avi"], ["video/avi", "video/x-msvideo"]),
    Declaration("public.audio", "audio", ["public.audiovisual-content"]),
    Declaration("public.mp3", "MP3 audio", ["public.audio"], ["mp3"], ["audio/mpeg", "audio/mp3"]),
    Declaration(
      "public.mpeg-4-audio", "MPEG-4 audio", ["public.mpeg-4", "public.audio"], ["m4a"], ["audio/mp4", "audio/x-m4a"]),
    Declaration("public.aac-audio", "AAC audio", ["public.audio"], ["aac"], ["audio/aac"]),
    Declaration(
      "com.microsoft.waveform-audio", "WAVE audio", ["public.audio"], ["wav", "wave"],
      ["audio/vnd.wave", "audio/wav", "audio/x-wav"]),
    Declaration("public.aiff-audio", "AIFF audio", ["public.audio"], ["aiff", "aif"], ["audio/aiff", "audio/x-aiff"]),
    Declaration("public.midi-audio", "MIDI audio", ["public.audio"], ["mid", "midi"], ["audio/midi"]),
    Declaration("org.xiph.flac", "FLAC audio", ["public.audio"], ["flac"], ["audio/flac"]),
    Declaration("com.apple.coreaudio-format", "Core Audio file", ["public.audio"], ["caf"], ["audio/x-caf"]),
    Declaration("public.playlist", "playlist", ["public.data"]),
    Declaration("public.font", "font", ["public.data"]),
    Declaration("public.executable", "executable", ["public.data"]),
    Declaration("public.bookmark", "bookmark", ["public.data"]),
    Declaration("public.contact", "contact", ["public.content"]),
    Declaration("public.message", "message", ["public.data", "public.content"]),
    Declaration("public.email-message", "e-mail message", ["public.message"], ["eml"], ["message/rfc822"]),
    Declaration("public.disk-image", "disk image", ["public.archive"]),
    Declaration("public.3d-content", "3D content", ["public.content"]),
    Declaration(
      "com.pixar.universal-scene-description-mobile", "USDZ scene", ["public.data", "public.3d-content"], ["usdz"],
      ["model/vnd.usdz+zip"]),
  ]
}
