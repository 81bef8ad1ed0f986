import { type Attachment, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Chargeback, ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { type Act, act, moneyWords, type Running } from './act.ts'

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
    effects: ({ amount }) => [effect(moneyWords(amount)), 'The merchant gets a callback.'],
    fields: () => [{ name: 'note', label: 'Note for the merchant', kind: 'lines', is_optional: true }],
    request: ({ chargebackId }) => ({ chargebackId, status }),
  })
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
      'At most 20 files of 10 MiB: .pdf, .png, .jpg, .jpeg, .webp, .txt, .log, .csv.',
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
  if (file === undefined) throw new Error('choose a file')
  const { prepareEvidence, finalizeEvidence } = AttachmentService.method
  progress('The file is announced…')
  const bytes = await file.arrayBuffer()
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  const announced = {
    name: file.name,
    mimeType: file.type,
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
    await upload(`/files/${encodeURIComponent(attachmentId)}?${query}`, file)
  }
  const finalize = async (): Promise<Attachment | undefined> =>
    (await call(finalizeEvidence, { merchantId, environment, attachmentId, operationId: operation_id }))
      .attachment
  progress('The file is checked…')
  let attachment = await finalize()
  for (
    let looks = 0;
    attachment?.status === AttachmentStatus.SCANNING && looks < SCAN_LOOKS_MAX;
    looks += 1
  ) {
    await pause()
    attachment = await finalize()
  }
  if (attachment?.status === AttachmentStatus.REJECTED)
    throw new Error(`the file was refused: ${attachment.reason.replaceAll('_', ' ')}`)
  await call(ChargebackService.method.addEvidence, { chargebackId, attachmentId })
  return { sentences: ['The file is part of the evidence.'] }
}
