import { Packr } from 'msgpackr'
import { type Body, checkDocumentSize } from '#lib/platform/store/check.ts'

/**
 * A document as it lies in LMDB: a head that a write needs (version, expiry, the index entries it has) and the body,
 * which is decoded only for readers. The head makes a replacement know what to remove without decoding, and keeps
 * the truth about a document's entries beside the document, whatever indexes later code declares.
 */
export interface Head {
  readonly version: number
  /** Milliseconds since 1970, or infinity. */
  readonly expires_ms: number
  /** The index entries, one a line; sorted by declaration, so equal texts are equal entries. */
  readonly entries: string
}

const ENTRIES_AT = 20

// MessagePack and not BSON: measured at 1.3 kB it packs in 0.6 of the time, unpacks in 0.5, and is a sixth smaller.
const packer = new Packr({ useRecords: false, variableMapSize: true, copyBuffers: true })

/** The body as bytes. Throws `TypeError` when it is larger than a document may be. */
export function packBody(body: Body): Buffer {
  const packed = packer.pack(body)
  checkDocumentSize(packed.length)
  return packed
}

/** The bytes of a record. */
export function packRecord(head: Head, body: Buffer): Buffer {
  const entries_bytes = Buffer.byteLength(head.entries)
  const record = Buffer.allocUnsafe(ENTRIES_AT + entries_bytes + body.length)
  record.writeUInt32LE(entries_bytes, 0)
  record.writeDoubleLE(head.version, 4)
  record.writeDoubleLE(head.expires_ms, 12)
  record.write(head.entries, ENTRIES_AT, 'utf8')
  record.set(body, ENTRIES_AT + entries_bytes)
  return record
}

/** The head of a record. Copies what it needs: LMDB reuses the bytes for its next answer. */
export function headOf(record: Buffer): Head {
  return {
    version: record.readDoubleLE(4),
    expires_ms: expiresOf(record),
    entries: record.toString('utf8', ENTRIES_AT, ENTRIES_AT + record.readUInt32LE(0)),
  }
}

/** A checked document as it is stored: with its version. */
export type Versioned = Body & { readonly version: number }

/** When the document of a record expires, in milliseconds since 1970, or infinity. */
export function expiresOf(record: Buffer): number {
  return record.readDoubleLE(12)
}

/** The document of a record, copied likewise. */
export function documentOf(record: Buffer): Versioned {
  return packer.unpack(record, { start: ENTRIES_AT + record.readUInt32LE(0), end: record.length })
}
