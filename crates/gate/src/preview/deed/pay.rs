//! Tools for invoices, refunds, subscriptions and other things about money that are no plain payment.

use super::{
    Shape,
    Weight::{Acts, Grave},
};

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        tools: &[
            "refund_payment",
            "create_refund",
            "issue_refund",
            "refund",
            "stripe_create_refund",
            "refund_charge",
        ],
        weight: Grave,
        says: "refund {$} of the payment {payment_id|payment_intent|charge|charge_id|payment|transaction_id}[, reason {reason}]",
        aside: &["idempotency_key", "metadata", "note"],
    },
    Shape {
        tools: &[
            "refund_payment",
            "create_refund",
            "issue_refund",
            "refund",
            "stripe_create_refund",
            "refund_charge",
        ],
        weight: Grave,
        says: "refund the payment {payment_id|payment_intent|charge|charge_id|payment|transaction_id}, with no amount given[, reason {reason}]",
        aside: &["idempotency_key", "metadata", "note"],
    },
    Shape {
        tools: &["refund_order", "issue_refund", "create_refund", "refund"],
        weight: Grave,
        says: "refund {$} of the order {order_id|orderId|order|order_number}[, reason {reason}]",
        aside: &["idempotency_key", "note", "customer_id"],
    },
    Shape {
        tools: &["refund_order", "issue_refund", "refund"],
        weight: Grave,
        says: "refund the order {order_id|orderId|order|order_number}, with no amount given[, reason {reason}]",
        aside: &["idempotency_key", "note", "customer_id"],
    },
    Shape {
        tools: &["create_payment_intent", "stripe_create_payment_intent"],
        weight: Grave,
        says: "create a payment of {$minor} by the customer {customer}[ and take the money now{?confirm}][ with {payment_method}]",
        aside: &["description", "metadata", "receipt_email", "automatic_payment_methods"],
    },
    Shape {
        tools: &["charge_customer", "charge_card"],
        weight: Grave,
        says: "charge {$} to {customer|customer_id|source|card_id}",
        aside: &["description", "metadata", "idempotency_key"],
    },
    Shape {
        tools: &["capture_payment_intent", "capture_payment"],
        weight: Grave,
        says: "take the money of the payment {payment_intent|payment_id|id}[: {$minor}]",
        aside: &[],
    },
    Shape {
        tools: &["cancel_payment_intent"],
        weight: Acts,
        says: "cancel the payment {payment_intent|id}[, reason {cancellation_reason}]",
        aside: &[],
    },
    Shape {
        tools: &["create_payout", "stripe_create_payout"],
        weight: Grave,
        says: "pay out {$minor} to {destination|bank_account|to}[ by {method}]",
        aside: &["description", "statement_descriptor", "metadata"],
    },
    Shape {
        tools: &["create_transfer", "stripe_create_transfer"],
        weight: Grave,
        says: "transfer {$minor} to {destination}[ in the group {transfer_group}]",
        aside: &["description", "metadata"],
    },
    Shape {
        tools: &["create_invoice", "send_invoice", "issue_invoice"],
        weight: Acts,
        says: "invoice {$} to {customer|customer_id|client|recipient|to}[, number {number|invoice_number}][, due {due_date}]",
        aside: &["description", "memo", "notes"],
    },
    Shape {
        tools: &["create_invoice", "stripe_create_invoice"],
        weight: Acts,
        says: "create an invoice for {customer|customer_id}[, due in {days_until_due} days]",
        aside: &["description", "metadata", "auto_advance", "collection_method"],
    },
    Shape {
        tools: &["create_invoice_item", "stripe_create_invoice_item"],
        weight: Acts,
        says: "put {$minor} on[ the invoice {invoice} of] the customer {customer}",
        aside: &["description"],
    },
    Shape {
        tools: &["create_invoice_item", "stripe_create_invoice_item"],
        weight: Acts,
        says: "put the price {price} on[ the invoice {invoice} of] the customer {customer}[, {quantity} times]",
        aside: &["description"],
    },
    Shape {
        tools: &["finalize_invoice", "stripe_finalize_invoice"],
        weight: Acts,
        says: "make the invoice {invoice|invoice_id|id} final",
        aside: &["auto_advance"],
    },
    Shape {
        tools: &["send_invoice", "email_invoice"],
        weight: Acts,
        says: "send the invoice {invoice|invoice_id|id}[ to {to|email|recipient}]",
        aside: &[],
    },
    Shape {
        tools: &["void_invoice"],
        weight: Acts,
        says: "void the invoice {invoice|invoice_id|id}",
        aside: &[],
    },
    Shape {
        tools: &["pay_invoice"],
        weight: Grave,
        says: "pay {$} for the invoice {invoice|invoice_id|invoiceId|invoice_number|id}[ to {to|payee|vendor|supplier}][ from {from|from_account|source|payment_method}]",
        aside: &["note", "memo"],
    },
    Shape {
        tools: &["pay_invoice"],
        weight: Grave,
        says: "pay the invoice {invoice|invoice_id|invoiceId|invoice_number|id}[ from {from|from_account|source|payment_method}]",
        aside: &["note", "memo"],
    },
    Shape {
        tools: &["approve_invoice"],
        weight: Grave,
        says: "approve the invoice {invoice|invoice_id|invoice_number|id}",
        aside: &["note", "comment"],
    },
    Shape {
        tools: &["create_subscription", "stripe_create_subscription"],
        weight: Grave,
        says: "subscribe {customer|customer_id} to {price|plan|price_id|plan_id}",
        aside: &["metadata"],
    },
    Shape {
        tools: &["cancel_subscription", "stripe_cancel_subscription"],
        weight: Grave,
        says: "cancel the subscription {subscription|subscription_id|subscriptionId|id}[ at the end of its period{?cancel_at_period_end|at_period_end}][, settling the rest{?prorate}]",
        aside: &["reason"],
    },
    Shape {
        tools: &["apply_credit", "issue_credit", "add_credit", "create_credit"],
        weight: Grave,
        says: "credit {$} to {customer|customer_id|account|account_id|user_id}",
        aside: &["reason", "note", "memo"],
    },
    Shape {
        tools: &["place_order", "create_order", "submit_order", "trade"],
        weight: Grave,
        says: "{side} {quantity|qty|shares} {symbol|ticker}[, {type|order_type} order][ at {limit_price|price}]",
        aside: &["time_in_force"],
    },
    Shape {
        tools: &["set_price", "update_price", "change_price"],
        weight: Acts,
        says: "set the price of {product|product_id|sku|item_id} to {$}",
        aside: &[],
    },
    Shape {
        tools: &["create_coupon", "create_discount"],
        weight: Acts,
        says: "create a discount of {percent_off|percentage} percent[ with the code {name|code}]",
        aside: &["duration", "duration_in_months"],
    },
];
