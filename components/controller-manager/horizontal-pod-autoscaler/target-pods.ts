/**
 * TargetPods: the pods that the target of each autoscaler selects, and which autoscalers select the same (upstream: horizontal.go,
 * validateAndParseSelector, hpasControllingPodsUnderSelector).
 */
import type { Pod } from '../../api/generated/types.ts'
import type { Informer } from '../../client/informer.ts'
import { messageOf } from '../../component-base/log.ts'
import { matchesLabels, parseLabelSelector } from '../../machinery/selectors/label-selector.ts'
import type { LabelSelector } from '../../machinery/selectors/label-selector.ts'
import { inNamespace } from '../pod-indexes.ts'

/** Why a target's selector is of no use: to its event, and to the condition ScalingActive. */
interface SelectorFault {
  readonly reason: string
  readonly error: string
  readonly condition: { readonly reason: string; readonly message: string }
}

export class TargetPods {
  readonly #pods: Informer<Pod>
  /** The selector that each autoscaler's target had last, by the autoscaler's key. */
  readonly #selectors = new Map<string, LabelSelector>()

  /** The informer must have the index of `indexByNamespace`. */
  constructor(pods: Informer<Pod>) {
    this.#pods = pods
  }

  /** The autoscaler is gone: it makes the selectors of others ambiguous no more. */
  forget(autoscaler: string): void {
    this.#selectors.delete(autoscaler)
  }

  /** Gives a function that lists the pods which the text selects in the autoscaler's namespace, by the caches of that moment. */
  select(
    autoscaler: string,
    text: string,
  ): { readonly pods: () => readonly Pod[] } | { readonly fault: SelectorFault } {
    if (text === '') {
      const message = "the HPA target's scale is missing a selector"
      const condition = { reason: 'InvalidSelector', message }
      return { fault: { reason: 'SelectorRequired', error: 'selector is required', condition } }
    }
    let selector: LabelSelector
    try {
      selector = parseLabelSelector(text)
    } catch (error) {
      const what = "couldn't convert selector into a corresponding internal selector object"
      return faultOf('InvalidSelector', `${what}: ${messageOf(error)}`)
    }
    this.#selectors.set(autoscaler, selector)
    const namespace = autoscaler.slice(0, autoscaler.indexOf('/'))
    const pods = (): Pod[] =>
      inNamespace(this.#pods, namespace).filter(({ metadata }) =>
        matchesLabels(selector, metadata.labels),
      )
    const selecting = this.#selecting(namespace, pods())
    if (selecting.length < 2) return { pods }
    const many = `pods by selector ${text} are controlled by multiple HPAs: [${selecting.join(' ')}]`
    return faultOf('AmbiguousSelector', many)
  }

  /** The keys of the autoscalers that select any of these pods. */
  #selecting(namespace: string, pods: readonly Pod[]): string[] {
    return [...this.#selectors]
      .filter(([key]) => key.startsWith(`${namespace}/`))
      .filter(([, one]) => pods.some(({ metadata }) => matchesLabels(one, metadata.labels)))
      .map(([key]) => key)
      .toSorted()
  }
}

function faultOf(reason: string, error: string): { readonly fault: SelectorFault } {
  return { fault: { reason, error, condition: { reason, message: error } } }
}
