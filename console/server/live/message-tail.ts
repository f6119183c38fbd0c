/**
 * MessageTail: a message of a subscription without its number, which comes first. It is encoded once, and all pages that get the same message
 * share its bytes.
 */
import type { TableColumn } from '../../protocol/live.ts'

export type MessageTail = Buffer

export function snapshotTail(
  rows: readonly unknown[],
  { isFirst, more }: { readonly isFirst: boolean; readonly more: boolean },
): MessageTail {
  const flags = `${isFirst ? ',"first":true' : ''}${more ? ',"more":true' : ''}`
  return Buffer.from(`"snapshot":${JSON.stringify(rows)}${flags}}`)
}

export function changeTail(set: readonly unknown[], gone: readonly string[]): MessageTail {
  return Buffer.from(`"set":${JSON.stringify(set)},"gone":${JSON.stringify(gone)}}`)
}

/** What comes before a tail. */
export function messageHead(id: number, columns?: readonly TableColumn[]): string {
  const named = columns === undefined ? '' : `"columns":${JSON.stringify(columns)},`
  return `{"id":${id},${named}`
}
