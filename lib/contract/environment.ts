import { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'

/** Test and production, as documents and public answers name them. Nothing crosses from one to the other. */
export type Environment = 'test' | 'production'

/** The environment of an RPC, or `undefined` when it was not given or is not one of ours. */
export function environmentFromProto(value: EnvironmentProto): Environment | undefined {
  if (value === EnvironmentProto.TEST) return 'test'
  if (value === EnvironmentProto.PRODUCTION) return 'production'
  return undefined
}

/** The environment as RPCs carry it. */
export function environmentToProto(value: Environment): EnvironmentProto {
  return value === 'test' ? EnvironmentProto.TEST : EnvironmentProto.PRODUCTION
}
