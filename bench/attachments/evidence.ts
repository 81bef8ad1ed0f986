import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep } from '#lib/base/time.ts'

/** A prepared upload of the system. */
export interface PreparedUpload {
  readonly merchant_id: string
  readonly attachment_id: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** The operator's uploads: no merchant's quota limits them, and no signed request is part of what is measured. */
export interface Evidence {
  prepare(content: Buffer): Promise<PreparedUpload>
  /** Finalizes an upload, waits until it is ready, and returns the URL of the download. */
  downloadUrl(upload: PreparedUpload): Promise<string>
}

const NAMES = { name: 'evidence.txt', mimeType: 'text/plain' }

/** Reads demo.json of a running system. */
export async function openEvidence(home: string): Promise<Evidence> {
  const { base_url, backoffice_url, operator } = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'))
  const call = async (rpc: string, message: object) => {
    const response = await fetch(`${backoffice_url}/multihub.attachments.v1.AttachmentService/${rpc}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${operator.token}` },
      body: JSON.stringify({ environment: 'ENVIRONMENT_TEST', ...message }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${rpc} answered ${text}`)
    return JSON.parse(text)
  }
  let number = 0
  return {
    async prepare(content) {
      number += 1
      // A merchant each, because each has a limit of unfinished bytes.
      const merchant_id = `bench-${number}`
      const file = { ...NAMES, sizeBytes: content.length, sha256: hash('sha256', content) }
      const { attachment, upload } = await call('PrepareEvidence', {
        merchantId: merchant_id,
        file,
        operationId: 'prepare',
      })
      const headers = { 'content-type': NAMES.mimeType, 'content-length': String(content.length) }
      return { merchant_id, attachment_id: attachment.attachmentId, url: base_url + upload.path, headers }
    },
    async downloadUrl({ merchant_id: merchantId, attachment_id: attachmentId }) {
      await call('FinalizeEvidence', { merchantId, attachmentId, operationId: 'finalize' })
      for (;;) {
        const { download } = await call('GetAttachment', { merchantId, attachmentId })
        if (download !== undefined) return base_url + download.path
        await sleep(20)
      }
    },
  }
}
