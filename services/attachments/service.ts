import { AttachmentUseService } from '#gen/multihub/support/v1/attachment_use_service_pb.ts'
import { describedSetting, readConfig } from '#lib/base/config/config.ts'
import { HOST_SETTING, portSetting } from '#lib/base/config/settings.ts'
import { createInternalServer } from '#lib/http/internal-link.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { startRuns } from '#lib/patterns/effects/runs.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { startTestRetention, TEST_RETENTION_SETTING } from '#lib/patterns/test-retention.ts'
import type { Role } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Attachment, hasEnded } from './domain/attachment.ts'
import { bindCleanUp } from './effects/clean-up.ts'
import { createContentCheck } from './effects/content-check.ts'
import { bindInspectContent } from './effects/inspect-content.ts'
import { bindScanContent } from './effects/scan-content.ts'
import { createActRpc } from './rpc/act-service.ts'
import { createAttachmentReferenceRpc } from './rpc/attachment-reference-service.ts'
import { createAttachmentRpc } from './rpc/attachment-service.ts'
import { NO_SCANNER, SCANNER_SETTING } from './scanner/clamd.ts'
import { ATTACHMENTS, keyOfAttachment, openAttachmentsStore } from './store/attachments-store.ts'
import { createTransferHandler } from './transfer/handle-transfer.ts'
import type { AttachmentsDeps } from './use-cases/deps.ts'

/** The settings of the attachments service. */
export const ATTACHMENTS_CONFIG = {
  host: HOST_SETTING,
  port: describedSetting(
    'The port at which gateways send and fetch the bytes of attachments.',
    portSetting('MULTIHUB_ATTACHMENTS_PORT', 9095),
  ),
  scanner: SCANNER_SETTING,
  test_retention_ms: TEST_RETENTION_SETTING,
}

/** The attachments service: upload sessions, the bytes, their checks and virus scans, and who uses them. */
export const role: Role<'attachments'> = {
  name: 'attachments',
  settings: ATTACHMENTS_CONFIG,
  async start(context) {
    const { host, port, scanner, test_retention_ms } = readConfig(ATTACHMENTS_CONFIG, context.variables)
    const { clock_guard } = context
    const acts = keepActs(await context.openStore())
    const store = await openAttachmentsStore(acts.store)
    const { attachments, upload_quotas, idempotency_records, files } = store
    const runs = await startRuns(store.runs, clock_guard)
    if (scanner === NO_SCANNER)
      log.warn({}, 'MULTIHUB_SCANNER=none: uploaded files are accepted without a virus scan')
    const content_check = createContentCheck()
    const runner = createEffectRunner<Attachment>({
      name: 'attachments',
      collection: attachments,
      clock_guard,
      runs,
      keyOf: keyOfAttachment,
      effects: [
        ...bindCleanUp({ upload_quotas, files }, context.clientOf(AttachmentUseService)),
        bindInspectContent(files, scanner, content_check),
        bindScanContent(files, scanner),
      ],
    })
    const deps: AttachmentsDeps = {
      attachments,
      upload_quotas,
      files,
      runner,
      idempotency: createIdempotency(idempotency_records, clock_guard, {
        test_lifetime_ms: test_retention_ms,
      }),
      keyring: context.keys.link,
    }
    // Support ends the files of what it deletes.
    const test_retention = startTestRetention(
      { spec: ATTACHMENTS, collection: attachments, hasEnded },
      { clock_guard, retention_ms: test_retention_ms },
    )
    const handleStream = createTransferHandler(deps)
    let listening: Listening | undefined
    return {
      services: [createAttachmentRpc(deps), createActRpc(acts.findAct), createAttachmentReferenceRpc(deps)],
      handleStream,
      async open() {
        const { draining, tls } = context
        const address = { host, port, variable: 'MULTIHUB_ATTACHMENTS_PORT', draining }
        listening = await listen(createInternalServer(tls, handleStream), address)
        runner.start()
        const scheme = tls === undefined ? 'http' : 'https'
        return { attachments_url: `${scheme}://${listening.host_and_port}` }
      },
      limitations: () => (scanner === undefined ? ['no virus scanner: uploaded files wait'] : []),
      async stop() {
        await listening?.close()
        await test_retention.stop()
        // First, so that no check of a file delays the stop.
        await content_check.close()
        await runner.stop()
        await runs.stop()
      },
    }
  },
}
