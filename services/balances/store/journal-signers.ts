import { keyIdOfSignature, type Signer } from '#lib/base/crypto/signer.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { JOURNAL, type JournalDocument, signedHead } from './journal.ts'

/**
 * Throws `StartError` when none of the batches was signed with the given keys: they belong to another system. Passes when one was,
 * and for an empty ledger. With the right keys it usually reads one batch.
 */
export async function checkJournalSigner(readDocuments: ReadDocuments, signer: Signer): Promise<void> {
  const ids = new Set<string>()
  for await (const document of readDocuments<JournalDocument>(JOURNAL)) {
    if (signer.verify(signedHead(document), document.signature)) return
    ids.add(keyIdOfSignature(document.signature))
  }
  if (ids.size > 0)
    throw new StartError(
      `the given keys signed nothing in the ledger: set the key with the id ${[...ids].join(' or ')}, with which its batches are signed`,
    )
}
