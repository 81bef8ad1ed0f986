/** Largest blob in bytes; MongoDB keeps it in about 4,100 chunks. */
export const BLOB_BYTES_MAX = 1024 ** 3

/** Throws `TypeError` unless `id` is safe as the name of a file anywhere. */
export function checkBlobId(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is no id for a blob`)
  return id
}

/** Throws `TypeError` unless `name` can name a directory and a bucket. */
export function checkBlobName(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,49}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)} is no name for blobs`)
  return name
}
