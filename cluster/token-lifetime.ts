/** How long a bootstrap token lives unless said otherwise. */

/** As kubeadm: a token that is made to join with lives for a day. */
export const defaultTokenTtlMs = 24 * 60 * 60 * 1000
