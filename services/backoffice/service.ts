import type { Client } from '@connectrpc/connect'
import { z } from 'zod'
import { CallbackService } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { ExchangeService } from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { ExchangeReadService } from '#gen/multihub/gateway/v1/exchange_read_service_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { type GetMerchantResponse, MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { ListenerService } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { describedSetting, optionalSetting, readConfig, setting } from '#lib/base/config/config.ts'
import {
  ATTACHMENTS_URL_SETTING,
  choiceSetting,
  HOST_SETTING,
  portSetting,
} from '#lib/base/config/settings.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { TRUSTED_PROXIES_SETTING } from '#lib/http/trusted-proxies.ts'
import { BACKUPS_SETTING } from '#lib/patterns/operation-runs.ts'
import type { Role, RoleContext } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { createLog, type Log } from '#lib/telemetry/log.ts'
import { createHeldBackRights } from './approvals/group-rights.ts'
import { createApprovalRpc } from './approvals/rpc/approval-service.ts'
import { startSecondPerson } from './approvals/second-person.ts'
import { openAudit } from './audit/audit.ts'
import { createActOfSignIn, createAuditedAct, createRefusedCall } from './audit/audited-acts.ts'
import { maskMessage } from './audit/domain/mask-message.ts'
import { createFindAct } from './audit/find-act.ts'
import { createFindMerchant } from './audit/find-merchant.ts'
import { createRefusedCalls } from './audit/refused-calls.ts'
import { createAuditRpc } from './audit/rpc/audit-service.ts'
import { FIRST_PRINCIPAL } from './door/authenticate.ts'
import { openBrowsers } from './door/browsers.ts'
import { type CallOwner, createCallOwner } from './door/call-owner.ts'
import { createCallerAddresses } from './door/caller-address.ts'
import { readConsole } from './door/console-paths.ts'
import { openFiles } from './door/file-paths.ts'
import { createHttpServer } from './door/http-server.ts'
import { createMerchantActs } from './door/merchant-acts.ts'
import type { OperatorCall } from './door/operator-call.ts'
import { createOperatorEndpoints } from './door/operator-endpoints.ts'
import { createStreams, streamOf } from './door/streams.ts'
import { watchOperationAges } from './operation-ages.ts'
import { createActRpc } from './rpc/act-service.ts'
import { listenToCallbacks } from './rpc/callback-service.ts'
import { createExchangeRpc } from './rpc/exchange-service.ts'
import { createOperationRpc } from './rpc/operation-service.ts'
import { createOverviewRpc } from './rpc/overview-service.ts'
import { createPersonalDataRpc } from './rpc/personal-data-service.ts'
import { createPrincipalRpc } from './rpc/principal-service.ts'
import { createSearchRpc } from './search/rpc/search-service.ts'
import { SIGN_IN_SETTINGS } from './sign-in/open-id-settings.ts'
import { openBackofficeStore } from './store/backoffice-store.ts'
import { createTimelineRpc, timelineSources } from './timeline/rpc/timeline-service.ts'
import { createTriggerRpc, triggerOwners } from './triggers/rpc/trigger-service.ts'
import { createOverview, overviewSources } from './use-cases/overview.ts'
import { watchExchanges } from './use-cases/watch-exchanges.ts'

/** The settings of the back office. */
export const BACKOFFICE_CONFIG = {
  host: HOST_SETTING,
  port: describedSetting(
    "The port of the back office: the operator's RPCs by Connect and gRPC-Web.",
    portSetting('MULTIHUB_BACKOFFICE_PORT', 9096),
  ),
  first_token: describedSetting(
    'The SHA-256 of a token of your choice. It counts until there is a principal with the right admin, and makes the first one.',
    optionalSetting(
      setting(
        'MULTIHUB_BACKOFFICE_FIRST_TOKEN',
        'a SHA-256 as 64 lower-case hexadecimal digits',
        z.string().regex(/^[0-9a-f]{64}$/),
      ),
    ),
  ),
  ...SIGN_IN_SETTINGS,
  trusted_proxies: TRUSTED_PROXIES_SETTING,
  attachments_url: ATTACHMENTS_URL_SETTING,
  backups: BACKUPS_SETTING,
  audience: describedSetting(
    'With `merchants`, only principals of merchants may call this process, so that it can face the internet.',
    choiceSetting('MULTIHUB_BACKOFFICE_AUDIENCE', ['all', 'merchants'], 'all'),
  ),
}

/** Creates the streams of the door, each of which asks its owner for news. */
function openStreams(
  { clientOf, draining }: Pick<RoleContext, 'clientOf' | 'draining'>,
  {
    callOwner,
    gateway,
    log,
  }: { callOwner: CallOwner; gateway: Client<typeof ExchangeReadService>; log: Log },
) {
  const notifier = clientOf(ListenerService)
  const getMerchant = async (merchantId: string): Promise<Merchant | undefined> => {
    const answer = await callOwner(MerchantService.method.getMerchant, { merchantId })
    return (answer as GetMerchantResponse).merchant
  }
  return createStreams({
    openers: new Map([
      streamOf(CallbackService.method.listenToCallbacks, (request) =>
        listenToCallbacks({ getMerchant, notifier }, request),
      ),
      streamOf(ExchangeService.method.watchExchanges, (request) => watchExchanges(gateway, request)),
    ]),
    draining,
    log,
  })
}

/** A request as people may see it. */
function show({ rpc, request }: Pick<OperatorCall, 'rpc' | 'request'>): string {
  return maskMessage(rpc.method.input, request)
}

function findFirst(id: string): typeof FIRST_PRINCIPAL | undefined {
  return id === FIRST_PRINCIPAL.principal_id ? FIRST_PRINCIPAL : undefined
}

/** The back office: the door of the operator's people and programs, and of merchants' developers. */
export const role: Role<'backoffice'> = {
  name: 'backoffice',
  settings: BACKOFFICE_CONFIG,
  async start(context) {
    const config = readConfig(BACKOFFICE_CONFIG, context.variables)
    const signer = context.keys.audit
    const acts = keepActs(await context.openStore())
    const stores = await openBackofficeStore(acts.store, signer)
    const { principals, audit_log, approvals, operation_runs } = stores
    const now_ms = context.clock_guard.store_now_ms
    const callOwner = createCallOwner(context.clientOf)
    const findAct = createFindAct(context.clientOf)
    const audit = openAudit({ log: audit_log, signer, now_ms, findAct, findProposal: approvals.findProposal })
    const getPrincipal = async (id: string) => findFirst(id) ?? (await principals.get(id))
    const second_person = startSecondPerson({ approvals, getPrincipal, callOwner, show })
    const refused_calls = createRefusedCalls(createRefusedCall({ audit, now_ms }))
    const actOfSignIn = createActOfSignIn({ audit, findAct, now_ms })
    const held_back = createHeldBackRights({ approvals, show })
    const countMerchantAct = createMerchantActs()
    const browsers = openBrowsers(context, config, stores, { actOfSignIn, countMerchantAct, held_back })
    const { authenticate, paths } = browsers
    const gateway = context.clientOf(ExchangeReadService)
    const log = createLog('backoffice')
    const streams = openStreams(context, { callOwner, gateway, log })
    const addresses = createCallerAddresses(config.trusted_proxies)
    const endpoints = createOperatorEndpoints({
      authenticate,
      addressOf: addresses.addressOf,
      callOwner,
      cursor: context.keys.cursor,
      act: createAuditedAct({ audit, findAct, findMerchant: createFindMerchant(callOwner), now_ms }),
      refused: refused_calls.refused,
      secondPerson: second_person.guard,
      countMerchantAct,
      streams,
      log,
    })
    const files = openFiles(context, config.attachments_url, { endpoints, authenticate })
    const app = createHttpServer({
      paths: [...paths, ...files.paths, ...readConsole()],
      endpoints,
      tls: context.tls,
      release: readBuildInfo().version,
      addresses,
    })
    const operation_ages = watchOperationAges(operation_runs, config.backups)
    let listening: Listening | undefined
    return {
      services: [
        createPrincipalRpc(principals, findFirst),
        createAuditRpc(audit, { getPrincipal, principals }),
        createApprovalRpc({ approvals, getPrincipal, execute: second_person.execute }),
        createTimelineRpc(timelineSources(context.clientOf, { audit, approvals })),
        createExchangeRpc(gateway),
        createPersonalDataRpc(context.clientOf),
        createTriggerRpc(triggerOwners(context.clientOf)),
        createActRpc(acts.findAct),
        createSearchRpc({ clientOf: context.clientOf, getPrincipal }),
        createOperationRpc(operation_runs),
        createOverviewRpc(createOverview(overviewSources(context.clientOf, stores, config.backups))),
      ],
      limitations: addresses.watch.limitations,
      async open() {
        await app.ready()
        const { host, port } = config
        const address = { host, port, variable: 'MULTIHUB_BACKOFFICE_PORT', draining: context.draining }
        listening = await listen(app.server, address)
        return {
          backoffice_url: `${context.tls === undefined ? 'http' : 'https'}://${listening.host_and_port}`,
        }
      },
      async stop() {
        operation_ages.cancel()
        await listening?.close()
        await app.close()
        await Promise.all([browsers.close(), files.close()])
        await Promise.all([second_person.stop(), refused_calls.stop()])
        await audit.stop()
      },
    }
  },
}
