import { Code, ConnectError } from '@connectrpc/connect'
import { type Attachment, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Chargeback, ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { type Act, act, type ChosenFile, moneyWords, type Running } from './act.ts'

const { OPEN, UNDER_REVIEW, WON, LOST, ACCEPTED } = ChargebackStatus

/** An act that moves a chargeback. The server decides whether its status permits it. */
function moveTo(
  name: string,
  status: ChargebackStatus,
  from: readonly ChargebackStatus[],
  effect: (amount: string) => string,
): Act<Chargeback> {
  return act({
    name,
    method: ChargebackService.method.moveChargeback,
    isOffered: (chargeback: Chargeback) => from.includes(chargeback.status),
    effects: ({ amount }) => [
      effect(moneyWords(amount)),
      'The merchant gets no callback; chargeback.get shows it the status.',
    ],
    fields: () => [{ name: 'note', label: 'Note for the merchant', kind: 'lines', is_optional: true }],
    request: ({ chargebackId }) => ({ chargebackId, status }),
  })
}

/** The types of evidence that the contract permits, with the endings of their names. */
export const EVIDENCE_TYPES: Readonly<Record<string, readonly string[]>> = {
  'application/pdf': ['.pdf'],
  'image/png': ['.png'],
  'image/jpeg': ['.jpg', '.jpeg'],
  'image/webp': ['.webp'],
  'text/plain': ['.txt', '.log'],
  'text/csv': ['.csv'],
}

const LIVE: readonly ChargebackStatus[] = [OPEN, UNDER_REVIEW]

/** What can be done with a chargeback. */
export const chargeback_acts: readonly Act<Chargeback>[] = [
  act({
    name: 'Add evidence',
    method: ChargebackService.method.addEvidence,
    isOffered: ({ status }: Chargeback) => LIVE.includes(status),
    effects: () => [
      'The file is checked for viruses and added to the chargeback. The merchant can read it.',
      `At most 20 files of 10 MiB: ${Object.values(EVIDENCE_TYPES).flat().join(', ')}.`,
    ],
    fields: () => [{ name: 'file', kind: 'file' }],
    request: ({ chargebackId }) => ({ chargebackId }),
    run: addEvidence,
  }),
  moveTo('Under review', UNDER_REVIEW, [OPEN], () => 'The bank reviews it. No money moves.'),
  moveTo('Won', WON, LIVE, (amount) => `The merchant gets ${amount} back. It is final.`),
  moveTo('Lost', LOST, LIVE, (amount) => `The customer keeps ${amount}. It is final.`),
  moveTo('Accepted', ACCEPTED, LIVE, (amount) => `The merchant gives up ${amount}. It is final.`),
]

/** How often the virus scan is asked for its result: about half a minute. */
const SCAN_LOOKS_MAX = 60

/** Announces a file, sends its bytes, waits for its check and adds it. A repetition goes on where it stopped. */
async function addEvidence({ item, operation_id, file, call, upload, progress, pause }: Running<Chargeback>) {
  const { merchantId, environment, chargebackId } = item
  if (file === undefined) throw refusal('choose a file')
  const { prepareEvidence, finalizeEvidence, getAttachments } = AttachmentService.method
  const mimeType = evidenceType(file)
  progress('The file is announced…')
  const digest = await digestOf(file)
  const announced = {
    name: file.name,
    mimeType,
    sizeBytes: BigInt(file.size),
    sha256: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  }
  const prepared = await call(prepareEvidence, {
    merchantId,
    environment,
    file: announced,
    operationId: operation_id,
  })
  const attachmentId = prepared.attachment?.attachmentId ?? ''
  if (prepared.attachment?.status === AttachmentStatus.AWAITING_UPLOAD) {
    const query = new URLSearchParams({
      environment: environment === Environment.PRODUCTION ? 'production' : 'test',
      merchant_id: merchantId,
    })
    await upload(`/files/${encodeURIComponent(attachmentId)}?${query}`, file, mimeType)
  }
  progress('The file is checked…')
  const owned = { merchantId, environment }
  const finalized = await call(finalizeEvidence, { ...owned, attachmentId, operationId: operation_id })
  let attachment: Attachment | undefined = finalized.attachment
  for (
    let looks = 0;
    attachment?.status === AttachmentStatus.SCANNING && looks < SCAN_LOOKS_MAX;
    looks += 1
  ) {
    await pause()
    const [read] = (await call(getAttachments, { ...owned, attachmentIds: [attachmentId] })).attachments
    attachment = read
  }
  if (attachment?.status === AttachmentStatus.REJECTED)
    throw refusal(`the file was refused: ${attachment.reason.replaceAll('_', ' ')}`)
  await call(ChargebackService.method.addEvidence, { chargebackId, attachmentId })
  return { sentences: ['The file is part of the evidence.'] }
}

/** The type of a file by the ending of its name: browsers know no type of some files, or another one. */
export function evidenceType({ name }: Pick<ChosenFile, 'name'>): string {
  const types = Object.entries(EVIDENCE_TYPES)
  const found = types.find(([, endings]) => endings.some((ending) => name.toLowerCase().endsWith(ending)))
  if (found === undefined)
    throw refusal(`the name must end with ${types.flatMap(([, endings]) => endings).join(', ')}`)
  return found[0]
}

async function digestOf(file: ChosenFile): Promise<Uint8Array> {
  // Browsers have it only with TLS or on this machine, whatever the types say.
  const subtle: typeof crypto.subtle | undefined = crypto.subtle
  if (subtle === undefined)
    throw refusal('a browser sends files only over TLS or on localhost: open the console there')
  return new Uint8Array(await subtle.digest('SHA-256', await file.arrayBuffer()))
}

/** An error after which nothing has changed. */
function refusal(message: string): ConnectError {
  return new ConnectError(message, Code.FailedPrecondition)
}
