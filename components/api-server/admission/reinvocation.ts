/**
 * Reinvocation: if mutating webhooks or policies change an object, all mutating plugins run once more, and with them those
 * webhooks and policies that ask to see later changes (upstream: apiserver/pkg/admission/reinvocation.go, and reinvocationcontext.go
 * of both plugins).
 */
import { copyJson } from '../../machinery/values/json-copy.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { AdmissionRequest } from './admission.ts'

/** The rounds of one request. */
export interface Rounds {
  /** 0, or 1 when all run again. */
  round: number
  isAnotherAsked: boolean
  /** Whether webhooks or policies replaced the object. */
  isRewritten: boolean
  readonly webhooks: Reinvocations
  readonly policies: Reinvocations
}

/** What one plugin called, by id. */
export interface Reinvocations {
  /** What was called and must be called again after a later change. */
  readonly asked: Set<string>
  /** What to call in the second round. */
  readonly again: Set<string>
  /** The object after the first round. */
  last: KubeObject | undefined
}

const newReinvocations = (): Reinvocations => ({
  asked: new Set(),
  again: new Set(),
  last: undefined,
})

export function roundsOf(request: AdmissionRequest): Rounds {
  return (request.rounds ??= {
    round: 0,
    isAnotherAsked: false,
    isRewritten: false,
    webhooks: newReinvocations(),
    policies: newReinvocations(),
  })
}

/** Marks those that asked to be called again. */
function callAgain({ asked, again }: Reinvocations): void {
  for (const id of asked) again.add(id)
}

/** Called when the plugin begins. In the second round, those that asked are called again if the object has changed since the first. */
export function beginRound(own: Reinvocations, request: AdmissionRequest): void {
  if (roundsOf(request).round > 0 && !deepEqual(own.last, request.object)) callAgain(own)
}

/** Whether the plugin skips this one in this round. */
export function isLeftOut(own: Reinvocations, request: AdmissionRequest, id: string): boolean {
  return roundsOf(request).round > 0 && !own.again.has(id)
}

/** Called when a webhook or policy changed the object: those that asked and were called before it are called again. */
export function noteChange(own: Reinvocations, request: AdmissionRequest): void {
  roundsOf(request).isAnotherAsked = true
  callAgain(own)
}

/** Called when the plugin ends. */
export function endRound(own: Reinvocations, request: AdmissionRequest): void {
  const isNeeded = roundsOf(request).round === 0 && own.asked.size > 0
  if (isNeeded) own.last = copyJson(request.object) as KubeObject | undefined
}
