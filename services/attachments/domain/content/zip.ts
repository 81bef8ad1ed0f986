/** The end record of a zip archive: its signature, 18 bytes, and a comment of up to 65,535 bytes. */
const END_RECORD = Buffer.from('PK\x05\x06', 'latin1')
const END_RECORD_BYTES = 22
const COMMENT_LENGTH_AT = 20
const COMMENT_MAX_BYTES = 0xffff

/**
 * Whether programs would find a zip archive (also a JAR or an office document) in these bytes. They look for the end
 * record from the back, so an archive can be added to nearly every format, with the end of that format as its comment.
 */
export function endsAsZip(content: Buffer): boolean {
  const first = Math.max(0, content.length - END_RECORD_BYTES - COMMENT_MAX_BYTES)
  for (let at = content.indexOf(END_RECORD, first); at >= 0; at = content.indexOf(END_RECORD, at + 1)) {
    const comment_at = at + END_RECORD_BYTES
    if (comment_at > content.length) return false
    // Programs differ in whether the comment must reach the end exactly, so a shorter one counts too.
    if (comment_at + content.readUInt16LE(at + COMMENT_LENGTH_AT) <= content.length) return true
  }
  return false
}
