import { createHash, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import {
  type CreateCredentialRequestSchema,
  CredentialService,
} from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { role as gateway } from '../../gateway/service.ts'
import { role as attachments } from '../../services/attachments/service.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { eventually } from '../support/eventually.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import { type RolesPlace, startRoles, type TestRoles } from '../support/roles.ts'
import { PATHS, signV1 } from '../support/sign-request.ts'

type CredentialSettings = Omit<MessageInitShape<typeof CreateCredentialRequestSchema>, '$typeName'>

/** What a test announces of a file; the rest describes a valid text. */
export interface Announcement {
  readonly purpose?: string
  readonly name?: string
  readonly mime_type?: string
  readonly size?: number
  readonly sha256?: string
}

/** A prepared upload. */
export interface PreparedUpload {
  readonly h_id: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** The response to a transfer, whose body may be a file. */
export interface TransferResponse {
  readonly http_status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly content: Buffer
}

/** A merchant's program that uploads files. */
export interface FilesClient {
  readonly merchant_id: string
  call(method: string, params: object, operation_id?: string): Promise<PublicResponse>
  /** Sends an envelope as it is. */
  sendBody(envelope: object): Promise<PublicResponse>
  /** Prepares the upload of these bytes. Throws when it is refused. */
  prepare(content: Buffer, announced?: Announcement): Promise<PreparedUpload>
  finalize(h_id: string, operation_id?: string): Promise<PublicResponse>
  status(h_id: string): Promise<PublicResponse>
  get(h_id: string): Promise<PublicResponse>
  /** Uploads and finalizes a file; returns its id. */
  upload(content: Buffer, announced?: Announcement): Promise<string>
  untilStatus(h_id: string, status: string): Promise<PublicResponse>
}

/** The gateway, the registry and the attachments service in this process, with the gateway's real port. */
export interface FilesSystem extends AsyncDisposable {
  readonly roles: TestRoles
  readonly base_url: string
  newMerchant(settings?: CredentialSettings): Promise<FilesClient>
  /** One more credential of a merchant. */
  newCredential(merchant_id: string, settings?: CredentialSettings): Promise<FilesClient>
}

/** A short text file. */
export const TEXT = Buffer.from('a receipt\n')

/** The digest of a file, as requests announce it. */
export const sha256Of = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

const METHODS = ['prepare', 'finalize', 'status', 'get'].map((name) => `attachment.${name}`)
/** No test of files is about quotas, except those that set their own. */
const NO_QUOTAS = Object.fromEntries(METHODS.map((name) => [name, 1_000_000]))
const environment = Environment.TEST

/** Starts the roles; by default files are ready without a scan. */
export async function startFiles(
  variables: Readonly<Record<string, string>> = { MULTIHUB_SCANNER: 'none' },
  place?: RolesPlace,
): Promise<FilesSystem> {
  const ports = { MULTIHUB_HTTP_PORT: '0', MULTIHUB_ATTACHMENTS_PORT: '0' }
  const roles = await startRoles([merchants, attachments, gateway], { ...ports, ...variables }, place)
  const base_url = roles.urls['base_url'] ?? ''
  const newCredential: FilesSystem['newCredential'] = async (merchantId, settings = {}) => {
    const { credential, secret } = await roles.client(CredentialService, 'backoffice').createCredential({
      merchantId,
      environment,
      apiVersion: ApiVersion.V1,
      rateLimits: NO_QUOTAS,
      scopes: [...SCOPES],
      supportResources: [...SUPPORT_RESOURCES],
      ...settings,
    })
    const application_id = Number(credential?.applicationId)
    return clientOf(base_url, merchantId, (body) =>
      signV1({ application_id, api_version: 'v1', secret }, body),
    )
  }
  return {
    roles,
    base_url,
    newCredential,
    async newMerchant(settings = {}) {
      const named = { name: 'shop', timezone: 'Asia/Kolkata', environments: [environment] }
      const { merchant } = await roles.client(MerchantService, 'backoffice').createMerchant(named)
      return newCredential(merchant?.merchantId ?? '', settings)
    },
    [Symbol.asyncDispose]: () => roles[Symbol.asyncDispose](),
  }
}

function clientOf(
  base_url: string,
  merchant_id: string,
  sign: (body: string) => Record<string, string>,
): FilesClient {
  const sendBody: FilesClient['sendBody'] = (envelope) => {
    const body = JSON.stringify(envelope)
    return send(base_url, { path: PATHS.v1, headers: sign(body), body })
  }
  const call: FilesClient['call'] = (method, params, operation_id) =>
    sendBody({ method, operation_id, params })
  const attachment = (h_id: string) => ({ attachment: { h_id } })
  const prepare: FilesClient['prepare'] = async (content, announced = {}) => {
    const { body } = await call('attachment.prepare', announcementOf(content, announced), randomUUID())
    if (!body.success) throw new Error(JSON.stringify(body.error))
    const { url, headers } = body.result.upload
    return { h_id: body.result.attachment.identifiers.h_id, url, headers }
  }
  const finalize: FilesClient['finalize'] = (h_id, operation_id = randomUUID()) =>
    call('attachment.finalize', attachment(h_id), operation_id)
  const status: FilesClient['status'] = (h_id) => call('attachment.status', attachment(h_id))
  return {
    merchant_id,
    call,
    sendBody,
    prepare,
    finalize,
    status,
    get: (h_id) => call('attachment.get', attachment(h_id)),
    async upload(content, announced) {
      const { h_id, url, headers } = await prepare(content, announced)
      await transfer(url, { method: 'PUT', headers, content })
      await finalize(h_id)
      return h_id
    },
    untilStatus: (h_id, wanted) =>
      eventually(
        () => status(h_id),
        (response) => response?.body.result?.status === wanted,
      ),
  }
}

/** The parameters of `attachment.prepare` for a file. */
export function announcementOf(content: Buffer, announced: object = {}): object {
  const { length: size } = content
  return {
    purpose: 'ticket',
    name: 'receipt.txt',
    mime_type: 'text/plain',
    size,
    sha256: sha256Of(content),
    ...announced,
  }
}

/** Sends one request to a link. A length in the headers may differ from the length of the content. */
export function transfer(
  url: string,
  {
    method,
    headers = {},
    content,
  }: {
    readonly method: string
    readonly headers?: Readonly<Record<string, string>>
    readonly content?: Buffer
  },
): Promise<TransferResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          http_status: response.statusCode ?? 0,
          headers: response.headers,
          content: Buffer.concat(chunks),
        }),
      )
    })
    sent.on('error', reject)
    sent.end(content)
  })
}
