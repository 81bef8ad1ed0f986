// Made by npm run generate. Do not edit.

export interface PaymentInRequest {
  /** The number of one of your routes. Any other number is refused with 1004. */
  service_id: number
  params: {
    payment: {
      identifiers: {
        /** Your own reference, which must be unique: creating a payment with it again is refused with 6009. */
        c_id: string
      }
      amount: {
        /** In minor units, such as cents. An amount that cannot be paid is refused with 6001. */
        value: bigint
        /** The ISO 4217 code of the route. Another currency is refused with 6002. */
        currency: string
      }
      description?: string | undefined
      /** The customer who pays. May be an empty object. */
      payer: {
        /** Recommended, because some providers require it. */
        email?: string | undefined
        phone?: string | undefined
        person?: {
          first_name?: string | undefined
          last_name?: string | undefined
        } | undefined
        customer_account?: {
          /** Your own identifier of the customer. */
          id?: string | undefined
        } | undefined
      }
      client?: {
        /** The preferred language of payment pages. */
        language?: string | undefined
        /** The country of the customer, for payment pages. */
        country?: string | undefined
      } | undefined
      /** Returned in the response. */
      redirect?: {
        /** Where to send the customer after a successful payment. */
        on_success?: string | undefined
        /** Where to send the customer after a failed payment. */
        on_fail?: string | undefined
      } | undefined
      /** Where to send the callbacks of this payment: a public address, https in production, without user info or fragment. */
      webhook_url?: string | undefined
    }
  }
}

export interface Amount {
  /** In minor units, such as cents. */
  value: bigint
  /** An ISO 4217 code. */
  currency: string
}

/** One movement of money of a payment. */
export interface Operation {
  id: string
  operation_type: 'deposit' | 'withdrawal' | 'refund'
  amount: Amount
  timestamps: {
    created: string
  }
  status: {
    /** `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true */
    status: 'created' | 'processing' | 'success' | 'error' | 'canceled' | 'declined' | 'refunded' | 'partially_refunded'
    /** Whether the payment has ended. */
    final: boolean
    /** Null until the payment has ended. */
    success: boolean | null
    /** Why the payment failed: a code of the error table. */
    error: number | null
  }
}

export interface Payment {
  identifiers: {
    /** Your own reference. */
    c_id: string
    /** Our identifier: a UUID, or digits. */
    h_id: string
    /** The identifier of the provider. */
    p_id?: string | undefined
    /** The tracking reference of the bank. */
    utr?: string | undefined
  }
  amount: Amount
  description?: string | undefined
  payer?: {
    email?: string | undefined
    phone?: string | undefined
    person?: {
      first_name?: string | undefined
      last_name?: string | undefined
    } | undefined
    customer_account?: {
      id?: string | undefined
    } | undefined
  } | undefined
  receiver?: {
    bank_account?: {
      /** Account number, IBAN, CBU, CVU or CLABE. */
      id?: string | undefined
      /** The holder of the account. */
      name?: string | undefined
    } | undefined
    /** The phone number of a person who receives the money. */
    phone?: string | undefined
    document?: {
      /** The kind of the identity document of that person. */
      type?: string | undefined
      number?: string | undefined
    } | undefined
    /** The content of a QR code to show to the customer. */
    qr_payload?: string | undefined
  } | undefined
  redirect?: {
    /** A page to send the customer to, or a list of links that open payment apps. */
    to?: string | string[] | undefined
    on_success?: string | undefined
    on_fail?: string | undefined
  } | undefined
  status: {
    /** `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true */
    status: 'created' | 'processing' | 'success' | 'error' | 'canceled' | 'declined' | 'refunded' | 'partially_refunded'
    /** Whether the payment has ended. */
    final: boolean
    /** Null until the payment has ended. */
    success: boolean | null
    /** Why the payment failed: a code of the error table. */
    error: number | null
    history: {
      /** `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true */
      status: 'created' | 'processing' | 'success' | 'error' | 'canceled' | 'declined' | 'refunded' | 'partially_refunded'
      /** Whether the payment has ended. */
      final: boolean
      /** Null until the payment has ended. */
      success: boolean | null
      created: string
      reason?: string | undefined
      amount: Amount
    }[]
  }
  timestamps: {
    created: string
    updated: string
    /** When the provider confirmed the payment. */
    finished?: string | undefined
  }
  /** `in` is a deposit, `out` a withdrawal. */
  destination: 'in' | 'out'
  operations: Operation[]
  /** The number of the route. */
  service_id?: number | undefined
}

export interface CreatedPayment {
  identifiers: {
    /** Your own reference. */
    c_id: string
    /** Our identifier: a UUID, or digits. */
    h_id: string
    /** The identifier of the provider. */
    p_id?: string | undefined
    /** The tracking reference of the bank. */
    utr?: string | undefined
  }
  amount: Amount
  description?: string | undefined
  payer?: {
    email?: string | undefined
    phone?: string | undefined
    person?: {
      first_name?: string | undefined
      last_name?: string | undefined
    } | undefined
    customer_account?: {
      id?: string | undefined
    } | undefined
  } | undefined
  receiver?: {
    bank_account?: {
      /** Account number, IBAN, CBU, CVU or CLABE. */
      id?: string | undefined
      /** The holder of the account. */
      name?: string | undefined
    } | undefined
    /** The phone number of a person who receives the money. */
    phone?: string | undefined
    document?: {
      /** The kind of the identity document of that person. */
      type?: string | undefined
      number?: string | undefined
    } | undefined
    /** The content of a QR code to show to the customer. */
    qr_payload?: string | undefined
    bank?: {
      /** The bank or network. */
      name?: string | undefined
      code?: string | undefined
    } | undefined
  } | undefined
  redirect?: {
    /** A page to send the customer to, or a list of links that open payment apps. */
    to?: string | string[] | undefined
    on_success?: string | undefined
    on_fail?: string | undefined
  } | undefined
  status: {
    /** `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true */
    status: 'created' | 'processing' | 'success' | 'error' | 'canceled' | 'declined' | 'refunded' | 'partially_refunded'
    /** Whether the payment has ended. */
    final: boolean
    /** Null until the payment has ended. */
    success: boolean | null
    /** Why the payment failed: a code of the error table. */
    error: number | null
    history: {
      /** `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true */
      status: 'created' | 'processing' | 'success' | 'error' | 'canceled' | 'declined' | 'refunded' | 'partially_refunded'
      /** Whether the payment has ended. */
      final: boolean
      /** Null until the payment has ended. */
      success: boolean | null
      created: string
      reason?: string | undefined
      amount: Amount
    }[]
  }
  timestamps: {
    created: string
    updated: string
    /** When the provider confirmed the payment. */
    finished?: string | undefined
  }
  /** `in` is a deposit, `out` a withdrawal. */
  destination: 'in' | 'out'
  operations: Operation[]
  /** The number of the route. */
  service_id?: number | undefined
}

export interface PaymentInResult {
  payment: CreatedPayment
  operation: Operation
}

export interface PaymentOutRequest {
  /** The number of one of your routes. Any other number is refused with 1004. */
  service_id: number
  params: {
    payment: {
      identifiers: {
        /** Your own reference, which must be unique: creating a payment with it again is refused with 6009. */
        c_id: string
      }
      amount: {
        /** In minor units, such as cents. An amount that cannot be paid is refused with 6001. */
        value: bigint
        /** The ISO 4217 code of the route. Another currency is refused with 6002. */
        currency: string
      }
      description?: string | undefined
      /** Whom you pay, and the bank account. Its country decides which codes it has. */
      receiver: {
        bank: {
          account: {
            /** An account number; the CLABE in Mexico, CBU or CVU in Argentina, IBAN in Turkey. A wrong one is refused with 8600. */
            id: string
          }
          /** The code of the branch: required in India, elsewhere refused with 9000. */
          ifsc?: string | undefined
          /** The code of the bank: optional in Argentina, the BSB (required) in Australia, elsewhere refused with 9000. A wrong one is refused with 8601. */
          code?: string | undefined
        }
        email?: string | undefined
        phone?: string | undefined
        person?: {
          first_name?: string | undefined
          last_name?: string | undefined
        } | undefined
      }
      client?: {
        /** The preferred language of payment pages. */
        language?: string | undefined
        /** The country of the customer, for payment pages. */
        country?: string | undefined
      } | undefined
      /** Where to send the callbacks of this payment: a public address, https in production, without user info or fragment. */
      webhook_url?: string | undefined
    }
  }
}

export interface PaymentOutResult {
  payment: CreatedPayment
  operation: Operation
}

export interface PaymentStatusRequest {
  /** Accepted, but has no effect: the route that the payment was created with counts. */
  service_id?: number | undefined
  params: {
    payment: {
      identifiers: {
        /** Your own reference. */
        c_id?: string | undefined
        /** Our identifier, from the response to `payment.in`. */
        h_id?: string | undefined
      }
    }
  }
}

export interface PaymentStatusResult {
  payment: Payment
  operation: Operation
}

export interface PaymentNotificationRequest {
  /** Accepted, but has no effect: the route that the payment was created with counts. */
  service_id?: number | undefined
  /** An idempotency key; recommended. Reuse it only to repeat exactly the same request; another request with it is refused with 1013, also when only the `service_id` differs. Without a key, equal requests within one minute of our clock (from second 0 to second 59) queue one callback. */
  operation_id?: string | undefined
  params: {
    payment: {
      identifiers: {
        /** Your own reference. */
        c_id?: string | undefined
        /** Our identifier, from the response to `payment.in`. */
        h_id?: string | undefined
      }
    }
  }
}

export interface PaymentNotificationResult {
  payment: Payment
  operation: Operation
}

export interface BalanceGetRequest {
  /** Limits the response to the currency of this route. */
  service_id?: number | undefined
  params?: Record<string, never> | undefined
}

export interface BalanceGetResult {
  balance: {
    /** Your merchant number. */
    id: number
    amounts: {
      /** The available funds in minor units. It can exceed 2^53: read it as a 64-bit integer. */
      value: bigint
      /** The funds held for open withdrawals, in minor units. */
      value_freezing: bigint
      /** Kept for compatibility. */
      value_blocking: bigint
      /** An ISO 4217 code. */
      currency: string
      /** Kept for compatibility. */
      enabled: true
    }[]
    /** Kept for compatibility. */
    enabled: true
  }
}

export interface GatewayPingRequest {
  params?: Record<string, never> | undefined
}

export interface GatewayPingResult {
  message: 'pong'
}

export interface TicketCreateRequest {
  params: {
    identifiers: {
      /** Your own reference. */
      c_id: string
    }
    title: string
    /** The text of the ticket. */
    description: string
    category: 'payment_issue' | 'integration' | 'limits' | 'account' | 'bug' | 'question' | 'dispute' | 'refund_request' | 'other'
    /** `medium` without one. */
    priority?: 'low' | 'medium' | 'high' | undefined
    payment?: {
      /** Your own reference of the payment. */
      c_id: string
    } | undefined
    /** The `h_id` of uploaded files that are `ready`. */
    attachment_ids?: string[] | undefined
  }
}

export interface Ticket {
  identifiers: {
    /** Your own reference. */
    c_id: string
    /** Our identifier. */
    h_id: string
  }
  category: 'payment_issue' | 'integration' | 'limits' | 'account' | 'bug' | 'question' | 'dispute' | 'refund_request' | 'other'
  status: 'open' | 'in_progress' | 'waiting_customer' | 'on_hold' | 'resolved' | 'closed' | 'canceled'
  /** Only the operator sets `urgent`. */
  priority: 'low' | 'medium' | 'high' | 'urgent'
  title: string
  description: string
  payment?: {
    /** The `h_id` of the payment. */
    h_id: string
  } | undefined
  reference: null
  /** When the operator should have handled the ticket. */
  sla_deadline: string
  attachments: TicketAttachment[]
  /** When the ticket was created. */
  created_at: string
  /** When its status, priority or description last changed. */
  updated_at: string
  /** When the ticket last changed or got a comment. */
  last_activity_at: string
}

export interface TicketAttachment {
  identifiers: {
    h_id: string
  }
  name: string
  mime_type: string
  /** In bytes. */
  size: number
  created_at: string
}

export type TicketCreateResult = Ticket

export interface TicketGetRequest {
  params: {
    identifiers: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
  }
}

export type TicketGetResult = Ticket

export interface TicketListRequest {
  params?: {
    statuses?: ('open' | 'in_progress' | 'waiting_customer' | 'on_hold' | 'resolved' | 'closed' | 'canceled')[] | undefined
    categories?: ('payment_issue' | 'integration' | 'limits' | 'account' | 'bug' | 'question' | 'dispute' | 'refund_request' | 'other')[] | undefined
    priorities?: ('low' | 'medium' | 'high' | 'urgent')[] | undefined
    payment?: {
      /** Your own reference of the payment. */
      c_id?: string | undefined
      /** Our identifier of the payment. */
      h_id?: string | undefined
    } | undefined
    /** Created at this time or later. */
    created_from?: string | undefined
    /** Created before this time. */
    created_to?: string | undefined
    /** The size of the page; 25 without one. */
    limit?: number | undefined
    /** The `next_cursor` of the page before, unchanged, with the same filters. */
    cursor?: string | undefined
  } | undefined
}

export interface TicketListResult {
  items: Ticket[]
  /** Null on the last page. */
  next_cursor: string | null
}

export interface TicketSummaryRequest {
  params?: {
    /** Created at this time or later. */
    created_from?: string | undefined
    /** Created before this time. */
    created_to?: string | undefined
  } | undefined
}

export interface TicketSummaryResult {
  by_status: {
    open: number
    in_progress: number
    waiting_customer: number
    on_hold: number
    resolved: number
    closed: number
    canceled: number
  }
}

export interface TicketDescriptionUpdateRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    identifiers: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
    /** The text of the ticket. */
    description: string
  }
}

export type TicketDescriptionUpdateResult = Ticket

export interface TicketReopenRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    identifiers: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
  }
}

export type TicketReopenResult = Ticket

export interface TicketCommentCreateRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    ticket: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
    body: string
    /** The `h_id` of uploaded files that are `ready`. */
    attachment_ids?: string[] | undefined
  }
}

export interface TicketComment {
  identifiers: {
    /** Our identifier. */
    h_id: string
  }
  author: 'merchant' | 'support'
  body: string
  attachments: TicketAttachment[]
  created_at: string
  /** When its text last changed. */
  updated_at: string
}

export type TicketCommentCreateResult = TicketComment

export interface TicketCommentsListRequest {
  params: {
    ticket: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
    /** The size of the page; 25 without one. */
    limit?: number | undefined
    /** The `next_cursor` of the page before, unchanged, with the same filters. */
    cursor?: string | undefined
  }
}

export interface TicketCommentsListResult {
  items: TicketComment[]
  /** Null on the last page. */
  next_cursor: string | null
}

export interface TicketCommentUpdateRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    ticket: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
    /** The `h_id` of the comment. */
    comment_h_id: string
    body: string
  }
}

export type TicketCommentUpdateResult = TicketComment

export interface RefundRequestRequest {
  params: {
    identifiers: {
      /** Your own reference. */
      c_id: string
    }
    payment: {
      /** Your own reference of the payment. */
      c_id?: string | undefined
      /** Our identifier of the payment. */
      h_id?: string | undefined
    }
    /** In minor units, as a text of digits; without it, all that remains of the payment. */
    amount?: string | undefined
    /** Why; the operator reads it. */
    reason?: string | undefined
  }
}

export interface Refund {
  identifiers: {
    /** Your own reference. */
    c_id: string
    /** Our identifier. */
    h_id: string
  }
  payment: {
    /** Your own reference of the payment. */
    c_id: string
    /** The `h_id` of the payment. */
    h_id: string
  }
  /** In minor units. It is a text, unlike the amounts of payments. */
  amount: string
  currency: string
  /** `pending` and `approved` are active; all others are final. */
  status: 'pending' | 'approved' | 'rejected' | 'canceled' | 'completed' | 'failed'
  /** Your own reason. */
  reason?: string | undefined
  /** When you requested the refund. */
  created_at: string
  /** When its status last changed. */
  updated_at: string
}

export type RefundRequestResult = Refund

export interface RefundGetRequest {
  params: {
    identifiers: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
  }
}

export type RefundGetResult = Refund

export interface RefundListRequest {
  params?: {
    statuses?: ('pending' | 'approved' | 'rejected' | 'canceled' | 'completed' | 'failed')[] | undefined
    payment?: {
      /** Your own reference of the payment. */
      c_id?: string | undefined
      /** Our identifier of the payment. */
      h_id?: string | undefined
    } | undefined
    /** Created at this time or later. */
    created_from?: string | undefined
    /** Created before this time. */
    created_to?: string | undefined
    /** The size of the page; 25 without one. */
    limit?: number | undefined
    /** The `next_cursor` of the page before, unchanged, with the same filters. */
    cursor?: string | undefined
  } | undefined
}

export interface RefundListResult {
  items: Refund[]
  /** Null on the last page. */
  next_cursor: string | null
}

export interface RefundSummaryRequest {
  params?: {
    /** Created at this time or later. */
    created_from?: string | undefined
    /** Created before this time. */
    created_to?: string | undefined
  } | undefined
}

export interface RefundSummaryResult {
  by_status: {
    pending: number
    approved: number
    rejected: number
    canceled: number
    completed: number
    failed: number
  }
}

export interface RefundCommentCreateRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    refund: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
    body: string
  }
}

export interface RefundComment {
  identifiers: {
    /** Our identifier. */
    h_id: string
  }
  author: 'merchant' | 'support'
  body: string
  created_at: string
}

export type RefundCommentCreateResult = RefundComment

export interface RefundCommentsListRequest {
  params: {
    refund: {
      /** Your own reference. */
      c_id?: string | undefined
      /** Our identifier. */
      h_id?: string | undefined
    }
    /** The size of the page; 25 without one. */
    limit?: number | undefined
    /** The `next_cursor` of the page before, unchanged, with the same filters. */
    cursor?: string | undefined
  }
}

export interface RefundCommentsListResult {
  items: RefundComment[]
  /** Null on the last page. */
  next_cursor: string | null
}

export interface ChargebackGetRequest {
  params: {
    identifiers: {
      /** Our identifier. */
      h_id: string
    }
  }
}

export interface Chargeback {
  identifiers: {
    /** Our identifier. */
    h_id: string
  }
  payment: {
    /** Your own reference of the payment. */
    c_id: string
    /** The `h_id` of the payment. */
    h_id: string
  }
  /** In minor units; it was taken from your balance. */
  amount: bigint
  currency: string
  /** The code of the card network or the bank. */
  reason_code: string
  /** A chargeback that you have `won` was credited back. */
  status: 'open' | 'under_review' | 'won' | 'lost' | 'accepted'
  /** When evidence must have arrived. Yours goes into a ticket of the category `dispute`. */
  deadline_at?: string | undefined
  history: ChargebackHistoryEntry[]
  /** When the chargeback was opened. */
  created_at: string
  /** When its status last changed, or evidence was added. */
  updated_at: string
}

export interface ChargebackHistoryEntry {
  status: 'open' | 'under_review' | 'won' | 'lost' | 'accepted'
  /** When the status was entered. */
  created: string
  note?: string | undefined
}

export type ChargebackGetResult = Chargeback

export interface ChargebackListRequest {
  params?: {
    statuses?: ('open' | 'under_review' | 'won' | 'lost' | 'accepted')[] | undefined
    payment?: {
      /** Your own reference of the payment. */
      c_id?: string | undefined
      /** Our identifier of the payment. */
      h_id?: string | undefined
    } | undefined
    /** Created at this time or later. */
    created_from?: string | undefined
    /** Created before this time. */
    created_to?: string | undefined
    /** The size of the page; 25 without one. */
    limit?: number | undefined
    /** The `next_cursor` of the page before, unchanged, with the same filters. */
    cursor?: string | undefined
  } | undefined
}

export interface ChargebackListResult {
  items: Chargeback[]
  /** Null on the last page. */
  next_cursor: string | null
}

export interface ChargebackSummaryRequest {
  params?: {
    /** Created at this time or later. */
    created_from?: string | undefined
    /** Created before this time. */
    created_to?: string | undefined
  } | undefined
}

export interface ChargebackSummaryResult {
  by_status: {
    open: number
    under_review: number
    won: number
    lost: number
    accepted: number
  }
}

export interface ChargebackAttachmentsListRequest {
  params: {
    chargeback: {
      /** Our identifier. */
      h_id: string
    }
  }
}

export interface ChargebackAttachmentsListResult {
  items: TicketAttachment[]
  /** Null on the last page. */
  next_cursor: string | null
}

export interface AttachmentPrepareRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    purpose: 'ticket' | 'ticket_comment'
    /** At most 255 bytes of UTF-8, without separators of paths, control characters and characters that change the direction of text. */
    name: string
    mime_type: 'application/pdf' | 'image/png' | 'image/jpeg' | 'image/webp' | 'text/plain' | 'text/csv'
    /** In bytes, exactly. */
    size: number
    /** The SHA-256 of the bytes in lower-case hexadecimal. */
    sha256: string
  }
}

export interface Attachment {
  identifiers: {
    /** Our identifier. */
    h_id: string
  }
  /** Files of `chargeback_evidence` come from the operator; all others are yours. */
  purpose: 'ticket' | 'ticket_comment' | 'chargeback_evidence'
  name: string
  mime_type: 'application/pdf' | 'image/png' | 'image/jpeg' | 'image/webp' | 'text/plain' | 'text/csv'
  /** In bytes. */
  size: number
  sha256: string
  status: 'awaiting_upload' | 'uploaded' | 'scanning' | 'ready' | 'rejected' | 'expired'
  /** Present only when the file was rejected. */
  reason?: 'sha256_mismatch' | 'wrong_type' | 'malformed' | 'active_content' | 'malware' | undefined
  created_at: string
  updated_at: string
}

export interface AttachmentPrepareResult {
  attachment: Attachment
  upload: {
    method: 'PUT'
    headers: Record<string, string>
    url: string
    expires_at: string
  }
}

export interface AttachmentFinalizeRequest {
  /** The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013. */
  operation_id?: string | undefined
  params: {
    attachment: {
      /** Our identifier. */
      h_id: string
    }
  }
}

export interface AttachmentFinalizeResult {
  attachment: Attachment
}

export interface AttachmentStatusRequest {
  params: {
    attachment: {
      /** Our identifier. */
      h_id: string
    }
  }
}

export interface AttachmentStatusResult {
  h_id: string
  status: 'awaiting_upload' | 'uploaded' | 'scanning' | 'ready' | 'rejected' | 'expired'
  /** Present only when the file was rejected. */
  reason?: 'sha256_mismatch' | 'wrong_type' | 'malformed' | 'active_content' | 'malware' | undefined
}

export interface AttachmentGetRequest {
  params: {
    attachment: {
      /** Our identifier. */
      h_id: string
    }
  }
}

export interface AttachmentGetResult {
  attachment: Attachment
  download: {
    url: string
    expires_at: string
  }
}

export interface WebhookResendResult {
  payment_id: string
  operation_id: string
  delivery_ids: string[]
  status: 'queued'
}

/** A verified callback. The same one can arrive again: `id` and the status identify it, for `payment.refunded` also the operations. */
export interface Callback {
  /** The id of the resource and the event, joined by a colon. */
  id: string
  created_at: string
  data: {
    result: {
      payment?: Payment | undefined
      ticket?: Record<string, unknown> | undefined
      refund?: Record<string, unknown> | undefined
      chargeback?: Record<string, unknown> | undefined
    }
    success: boolean
    request_id: string
  }
  merchant_id: string
}
