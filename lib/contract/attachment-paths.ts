/** The path to which the bytes of an upload go, before its proof. */
export const UPLOAD_PATH = '/public/api/multihub/attachments/upload/'

/** The path from which bytes are downloaded, before its proof. */
export const DOWNLOAD_PATH = '/public/api/multihub/attachments/download/'
