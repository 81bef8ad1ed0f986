/** The largest blob in bytes. MongoDB stores it in about 4,100 chunks. */
export const BLOB_BYTES_MAX = 1024 ** 3

/** Throws `TypeError` unless `id` is a safe file name on every system. */
export function checkBlobId(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not a valid blob id`)
  return id
}

/** Throws `TypeError` unless `name` can name a directory and a GridFS bucket. */
export function checkBlobName(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,49}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)} is not a valid name for blobs`)
  return name
}
