import { open } from 'node:fs/promises'

/** Makes the names in a directory durable: a file that was flushed can still lose its name at a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
