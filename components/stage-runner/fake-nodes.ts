/** FakeNodes: the nodes that stages drive, the pods on them, and the addresses of both. */
import type { Node, Pod } from '../api/generated/types.ts'
import type { Informer } from '../client/informer.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { keyOf } from '../machinery/objects/object.ts'
import { PodAddresses } from './pod-addresses.ts'
import { fakeNode } from './stage.ts'

const byNode = 'node of stages'

export class FakeNodes {
  readonly informer: Informer<Node>
  readonly #default: { readonly address: string; readonly range: string }
  readonly #addresses = new PodAddresses()
  #pods: Informer<Pod> | undefined

  /** The default: the address of a node that has none, and the range of its pods. */
  constructor(
    informer: Informer<Node>,
    defaults: { readonly address: string; readonly range: string },
  ) {
    this.informer = informer
    this.#default = defaults
  }

  isFake(node: KubeObject | undefined): boolean {
    return node?.metadata.annotations?.[fakeNode.annotation] === fakeNode.value
  }

  /** Call it before the informer runs, or is ready. */
  followPods(pods: Informer<Pod>): void {
    this.#pods = pods
    pods.addIndex(byNode, ({ spec }) => (spec?.nodeName === undefined ? [] : [spec.nodeName]))
    pods.onEvent(({ type, object }) => {
      if (type === 'delete') this.#addresses.release(ownerOf(object))
      else if (this.hasPod(object)) this.#note(object)
    })
  }

  hasPod(pod: KubeObject): boolean {
    const { nodeName = '' } = (pod as Pod).spec ?? {}
    return nodeName !== '' && this.isFake(this.informer.get(nodeName))
  }

  podsOn(nodeName: string): readonly Pod[] {
    return this.#pods?.byIndex(byNode, nodeName) ?? []
  }

  addressesOf(nodeName: string): readonly string[] {
    const addresses = this.informer.get(nodeName)?.status?.addresses ?? []
    const own = ['InternalIP', 'ExternalIP'].flatMap((type) =>
      addresses.filter((one) => one.type === type).map(({ address }) => address ?? ''),
    )
    return own.length === 0 ? [this.#default.address] : own
  }

  /** The same for the same pod. Throws an Error when a range is full. */
  podAddresses(pod: KubeObject, nodeName: string): readonly string[] {
    return this.#addresses.of(ownerOf(pod), this.#rangesOf(nodeName))
  }

  #note(pod: Pod): void {
    const { podIP, podIPs = [] } = pod.status ?? {}
    if (pod.spec?.hostNetwork === true) return
    const addresses = podIPs.length === 0 ? [podIP ?? ''] : podIPs.map(({ ip }) => ip ?? '')
    this.#addresses.note(ownerOf(pod), addresses, this.#rangesOf(pod.spec?.nodeName ?? ''))
  }

  #rangesOf(nodeName: string): readonly string[] {
    const { podCIDR, podCIDRs = [] } = this.informer.get(nodeName)?.spec ?? {}
    if (podCIDRs.length > 0) return podCIDRs
    return [podCIDR ?? this.#default.range]
  }
}

/** Two pods of one name are two. */
function ownerOf(pod: KubeObject): string {
  return `${keyOf(pod)}/${pod.metadata.uid ?? ''}`
}
