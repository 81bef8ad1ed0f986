import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { type Attachment, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import {
  AttachmentService,
  FinalizeEvidenceRequestSchema,
  GetAttachmentsRequestSchema,
  PrepareEvidenceRequestSchema,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  ChargebackService,
  GetChargebackRequestSchema,
} from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { ATTACHMENT_MAX_BYTES, ATTACHMENT_TYPES, isAttachmentName } from '#lib/contract/attachments.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import type { Connection } from './connection.ts'

const POLL_MS = 500
/** A scan takes moments, unless the scanner is down. */
const SCAN_MAX_MS = 60_000

const { finalizeEvidence, getAttachments, prepareEvidence } = AttachmentService.method

/**
 * Uploads a file as evidence of a chargeback, and waits until it is scanned. Returns the id of the file. The same file for the same
 * chargeback is uploaded once, also when a command was killed: its operation id is made from both. Throws `CommandError`.
 */
export async function uploadEvidence(
  connection: Connection,
  chargebackId: string,
  path: string,
  given_operation_id: string | undefined,
  { stderr }: Pick<Terminal, 'stderr'>,
): Promise<string> {
  const { file, bytes } = readEvidence(path)
  const { chargeback } = await connection.call(
    ChargebackService.method.getChargeback,
    create(GetChargebackRequestSchema, { chargebackId }),
  )
  const { merchantId = '', environment = Environment.UNSPECIFIED } = chargeback ?? {}
  const of_merchant = { merchantId, environment }
  const operationId =
    given_operation_id ??
    `evidence-${sha256Hex(JSON.stringify([chargebackId, file.name, file.sha256])).slice(0, 32)}`
  const { attachment } = await connection.call(
    prepareEvidence,
    create(PrepareEvidenceRequestSchema, { ...of_merchant, file, operationId }),
  )
  const attachmentId = attachment?.attachmentId ?? ''
  const read = async (): Promise<Attachment | undefined> => {
    const request = create(GetAttachmentsRequestSchema, { ...of_merchant, attachmentIds: [attachmentId] })
    return (await connection.call(getAttachments, request)).attachments[0]
  }
  const { status } = (await read()) ?? {}
  if (status === AttachmentStatus.AWAITING_UPLOAD || status === AttachmentStatus.UPLOADED) {
    const query = new URLSearchParams({
      merchant_id: merchantId,
      environment: environment === Environment.PRODUCTION ? 'production' : 'test',
    })
    const content = { type: file.mimeType, body: bytes }
    await connection.transfer('PUT', `/files/${attachmentId}?${query}`, content, (answer) => answer.text())
    await connection.call(
      finalizeEvidence,
      create(FinalizeEvidenceRequestSchema, { ...of_merchant, attachmentId, operationId }),
    )
  }
  await untilScanned(read, stderr)
  return attachmentId
}

/** Waits for the end of the scan. Throws `CommandError` 1 unless the file can be used. */
async function untilScanned(
  read: () => Promise<Attachment | undefined>,
  stderr: Terminal['stderr'],
): Promise<void> {
  const until_ms = clock.monotonic_ms() + SCAN_MAX_MS
  for (let reads = 1; ; reads += 1) {
    const { status, reason } = (await read()) ?? {}
    if (status === AttachmentStatus.READY) return
    if (status === AttachmentStatus.REJECTED) throw new CommandError(1, `the file was rejected: ${reason}`)
    if (status !== AttachmentStatus.SCANNING)
      throw new CommandError(1, 'the upload has expired: repeat it with --operation-id and a new id')
    if (clock.monotonic_ms() > until_ms)
      throw new CommandError(
        1,
        'the file is not scanned yet: the same command goes on, when the scanner works; on your own machine without a scanner, start with MULTIHUB_SCANNER=none npm start',
      )
    if (reads === 1) stderr.write('the file is uploaded; waiting for its scan (up to a minute)\n')
    await sleep(POLL_MS)
  }
}

/** Reads a file that the back office can take. Throws `CommandError` 2 for any other. */
function readEvidence(path: string) {
  const name = basename(path)
  const ending = extname(name).toLowerCase()
  const types: readonly (readonly [string, readonly string[]])[] = Object.entries(ATTACHMENT_TYPES)
  const [mimeType] = types.find(([, endings]) => endings.includes(ending)) ?? []
  if (mimeType === undefined)
    throw new CommandError(
      2,
      `--file takes a file that ends with ${types.flatMap(([, all]) => all).join(', ')}`,
    )
  if (!isAttachmentName(name))
    throw new CommandError(2, 'the name of the file has characters that are not permitted')
  const bytes = readLimited(path)
  if (bytes === undefined)
    throw new CommandError(
      2,
      `--file takes a file that is not empty, of at most ${ATTACHMENT_MAX_BYTES / 1_048_576} MiB`,
    )
  return { bytes, file: { name, mimeType, sizeBytes: BigInt(bytes.length), sha256: sha256Hex(bytes) } }
}

/** The bytes of a file; `undefined` when it has too many, or none. */
function readLimited(path: string): Uint8Array<ArrayBuffer> | undefined {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const { size } = fstatSync(file)
    return size < 1 || size > ATTACHMENT_MAX_BYTES ? undefined : new Uint8Array(readFileSync(file))
  } catch (error) {
    throw new CommandError(2, `${path} cannot be read`, { cause: error })
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
