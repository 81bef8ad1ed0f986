import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'

/** Maps the timestamps of a document. */
export function timesToProto(document: { readonly created_at: Date; readonly updated_at: Date }): {
  createTime: Timestamp
  updateTime: Timestamp
} {
  return {
    createTime: timestampFromDate(document.created_at),
    updateTime: timestampFromDate(document.updated_at),
  }
}
