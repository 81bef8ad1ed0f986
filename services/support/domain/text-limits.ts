/** The longest reason or note, in characters (S7). */
export const REASON_MAX = 500

/** The longest comment, in characters (S1). */
export const COMMENT_MAX = 5_000
