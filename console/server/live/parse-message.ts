/** What a page sends over its WebSocket, checked. */
import type { RawData } from 'ws'
import { channelNames } from '../../protocol/channel-names.ts'
import type { LessonStepSubscription } from '../../protocol/lessons.ts'
import type { TableSubscription, ToConsole } from '../../protocol/live.ts'

const longestText = 2000

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= longestText

function tableOf(value: unknown): TableSubscription | undefined {
  const { path, labelSelector, fieldSelector } = (value ?? {}) as Record<string, unknown>
  if (!isText(path) || !/^\/apis?\/[^?#]*$/.test(path)) return undefined
  return {
    path,
    ...(isText(labelSelector) && labelSelector !== '' && { labelSelector }),
    ...(isText(fieldSelector) && fieldSelector !== '' && { fieldSelector }),
  }
}

function lessonOf(value: unknown): LessonStepSubscription | undefined {
  const { name, step } = (value ?? {}) as Record<string, unknown>
  if (!isText(name) || !Number.isSafeInteger(step)) return undefined
  return { name, step: step as number }
}

/** The message; undefined for anything else. */
export function parseMessage(data: RawData): ToConsole | undefined {
  let value: unknown
  try {
    value = JSON.parse((data as Buffer).toString())
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { subscribe, unsubscribe, channel, table, lesson } = value as Record<string, unknown>
  if (Number.isSafeInteger(unsubscribe)) return { unsubscribe: unsubscribe as number }
  if (!Number.isSafeInteger(subscribe)) return undefined
  const id = subscribe as number
  const name = channelNames.find((one) => one === channel)
  if (name !== undefined) return { subscribe: id, channel: name }
  const step = lessonOf(lesson)
  if (step !== undefined) return { subscribe: id, lesson: step }
  const wanted = tableOf(table)
  return wanted && { subscribe: id, table: wanted }
}
