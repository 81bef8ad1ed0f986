// biome-ignore-all lint/performance/noBarrelFile: the entry of the package
// biome-ignore-all lint/performance/noReExportAll: the entry of the package
export {
  CALLBACK_MAX_BYTES,
  type CallbackHeaders,
  type CallbackSettings,
  callbackKey,
  verifyCallback,
} from './callbacks.ts'
export { Client, type ClientSettings, type FileToUpload, type UploadOptions } from './client.ts'
export type { CreatedPaymentResult, CreatePaymentOptions } from './create-payment.ts'
export {
  CallbackError,
  type CallbackReason,
  MultihubError,
  OutcomeUnknownError,
  type Refusal,
  RefusalError,
  TransportError,
  type TransportReason,
} from './errors.ts'
export type { CallOptions, ListItems, Methods } from './gen/methods.ts'
export { RETRIES, type Retry } from './gen/tables.ts'
export * from './gen/types.ts'
export { parseJson, writeJson } from './json.ts'
export {
  type CallbackHandler,
  callbackListener,
  type FastifyLike,
  fastifyCallbacks,
  type ReceiverSettings,
} from './receivers.ts'
export {
  type CallbackSignatureInput,
  type Credential,
  type ReplayPair,
  resendPath,
  signResend,
  signV1,
  signV2,
  type V2Response,
  verifyV1,
  verifyV2,
  verifyV3,
  webhookSecret,
} from './signatures.ts'
