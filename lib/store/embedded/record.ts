import { Packr } from 'msgpackr'
import { type Body, checkDocumentSize } from '../check.ts'

// MessagePack instead of BSON: at 1.3 kB it packs in 0.6 of the time, unpacks in 0.5, and is a sixth smaller.
const packer = new Packr({ useRecords: false, variableMapSize: true, copyBuffers: true })

/** Encodes a body. Throws `TypeError` when it is larger than a document may be. */
export function packBody(body: Body): Buffer {
  const packed = packer.pack(body)
  checkDocumentSize(packed.length)
  return packed
}

/** Decodes the body that `bytes` holds from `start` on into new memory. */
export function unpackBody(bytes: Buffer, start = 0): Record<string, unknown> {
  return packer.unpack(bytes, { start, end: bytes.length })
}

/**
 * The header of a record in LMDB: version, expiry and index entries of the document. The body follows it and is decoded
 * for readers only. From the header, a replacement knows which index entries to remove without decoding the body, also
 * when later code declares other indexes.
 */
export interface RecordHeader {
  readonly version: number
  /** Milliseconds since 1970, or infinity. */
  readonly expires_ms: number
  /** The index entries, one per line, in the order of the declaration: equal texts mean equal entries. */
  readonly entries: string
}

const ENTRIES_AT = 20

/** Encodes a record. */
export function packRecord(header: RecordHeader, body: Buffer): Buffer {
  const entries_bytes = Buffer.byteLength(header.entries)
  const record = Buffer.allocUnsafe(ENTRIES_AT + entries_bytes + body.length)
  record.writeUInt32LE(entries_bytes, 0)
  record.writeDoubleLE(header.version, 4)
  record.writeDoubleLE(header.expires_ms, 12)
  record.write(header.entries, ENTRIES_AT, 'utf8')
  record.set(body, ENTRIES_AT + entries_bytes)
  return record
}

/** Decodes the header of a record into new memory, because LMDB reuses the bytes for its next result. */
export function headerOf(record: Buffer): RecordHeader {
  return {
    version: record.readDoubleLE(4),
    expires_ms: expiresOf(record),
    entries: record.toString('utf8', ENTRIES_AT, ENTRIES_AT + record.readUInt32LE(0)),
  }
}

/** A checked document with its version. */
export type VersionedBody = Body & { readonly version: number }

/** The expiry time of a record in milliseconds since 1970, or infinity. */
export function expiresOf(record: Buffer): number {
  return record.readDoubleLE(12)
}

/** Decodes the document of a record into new memory. */
export function documentOf(record: Buffer): VersionedBody {
  // The record has the form that `packRecord` gave it, and its body is a checked document.
  return unpackBody(record, ENTRIES_AT + record.readUInt32LE(0)) as VersionedBody
}
