import { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import { createEnumMap } from './proto-fields.ts'

/** Test and production, as documents and public responses name them. No data or money passes from one to the other. */
export type Environment = 'test' | 'production'

/** The environments in RPCs. */
export const ENVIRONMENTS = createEnumMap<Environment, EnvironmentProto>({
  test: EnvironmentProto.TEST,
  production: EnvironmentProto.PRODUCTION,
})
