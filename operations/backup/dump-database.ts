import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Body } from '#lib/store/check.ts'
import type { Declarations } from '#lib/store/declarations.ts'
import { packBody } from '#lib/store/embedded/record.ts'
import type { DatabaseSnapshot } from '#lib/store/maintenance.ts'
import { framesOfBlobs } from './blob-frames.ts'
import { withProgress, writeFrames } from './frames.ts'
import type { BackupContent } from './manifest.ts'

/** A database of a backup and where to write it. */
export interface DumpedDatabase {
  readonly role: string
  readonly declarations: Declarations
  readonly database: DatabaseSnapshot
  readonly directory: string
  printProgress(line: string): void
}

/**
 * Writes one file per collection, in the order of the declarations, then one per name of blobs. Throws `Unavailable` for a
 * database with a collection that is not declared, because the backup would lack it.
 */
export async function* dumpDatabase({
  role,
  declarations: { collections, blobs },
  database,
  directory,
  printProgress,
}: DumpedDatabase): AsyncGenerator<BackupContent> {
  const declared = new Set([...collections.map(({ name }) => name), ...blobs])
  const unknown = (await database.listStored()).find((name) => !declared.has(name))
  if (unknown !== undefined)
    throw new Unavailable(
      `the database of ${role} has a collection ${unknown}, which this release does not know: back up with the release that runs`,
    )
  for (const spec of collections) {
    const place = { role, kind: 'documents', name: spec.name } as const
    const report = (count: number): void => printProgress(`${role}: ${spec.name}: ${count} documents`)
    const documents = withProgress(packAll(database.readDocuments(spec)), report)
    yield await writeContent(directory, place, documents)
  }
  for (const name of blobs)
    yield await writeContent(
      directory,
      { role, kind: 'blobs', name },
      framesOfBlobs(database.readBlobs(name)),
    )
}

async function writeContent(
  directory: string,
  place: Pick<BackupContent, 'role' | 'kind' | 'name'>,
  frames: AsyncIterable<Uint8Array>,
): Promise<BackupContent> {
  const file = `${place.role}.${place.name}.${place.kind}`
  return { ...place, file, ...(await writeFrames(join(directory, file), frames)) }
}

async function* packAll(documents: AsyncIterable<Body>): AsyncGenerator<Uint8Array> {
  for await (const document of documents) yield packBody(document)
}
