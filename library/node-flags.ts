/** A node's options as flags of its agent, without dashes. */
import type { NodeOptions } from './types.ts'

function pairs(of: Readonly<Record<string, string>>): string {
  return Object.entries(of)
    .map(([key, value]) => `${key}=${value}`)
    .join()
}

export function nodeFlags({ labels = {}, taints = [], capacity = {} }: NodeOptions) {
  const flags = {
    'node-labels': pairs(labels),
    'register-with-taints': taints.join(),
    capacity: pairs(capacity),
  }
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== ''))
}
