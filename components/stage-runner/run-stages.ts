/** The stage runner from its flags to its end: stages, informers, one controller for each kind, leases of fake nodes, events. */
import { dialectNamed, dialects } from '../api/dialect.ts'
import type { Node, Pod } from '../api/generated/types.ts'
import { servedRelease } from '../api/lifecycle.ts'
import { resourcesOf } from '../api/resources.ts'
import { createClient } from '../client/client.ts'
import type { Client } from '../client/client.ts'
import { runController, source } from '../client/controller.ts'
import type { ControllerSource } from '../client/controller.ts'
import { createEventRecorder } from '../client/event-recorder.ts'
import type { EventRecorder } from '../client/event-recorder.ts'
import { createInformerFactory } from '../client/informer.ts'
import type { InformerFactory } from '../client/informer.ts'
import { connectionFrom, readKubeconfig } from '../client/kubeconfig.ts'
import { aborted } from '../component-base/aborted.ts'
import { backoffDelay } from '../component-base/backoff.ts'
import { backgroundOf } from '../component-base/clock.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { StartError } from '../component-base/component.ts'
import { diskFiles } from '../component-base/files.ts'
import { messageOf } from '../component-base/log.ts'
import { keyOf } from '../machinery/objects/object.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { FakeNodes } from './fake-nodes.ts'
import { createFindKind } from './find-kind.ts'
import type { FindKind } from './find-kind.ts'
import { compileStage } from './lifecycle.ts'
import type { CompiledStage } from './lifecycle.ts'
import { runNodeLeases } from './node-leases.ts'
import type { stageRunnerFlags } from './options.ts'
import { sameKind } from './stage.ts'
import type { KindRef, Stage } from './stage.ts'
import { stageFunctions } from './stage-functions.ts'
import { StagePlayer } from './stage-player.ts'
import { createStageWriter } from './stage-writer.ts'
import type { TemplateFunctions } from './template/template-functions.ts'

type Context = ComponentContext<typeof stageRunnerFlags>

const name = 'stage-runner'
/** Objects of a kind that are worked on at once, as kwok has it. */
const workers = 4
/** How often it looks for a kind that the cluster does not serve yet. */
const look = { initialMs: 500, maxMs: 5000 }

async function readStages({ options, files = diskFiles }: Context): Promise<CompiledStage[]> {
  const path = options['stages-file']
  if (path === undefined) throw new StartError('--stages-file is required')
  const text = await files.read(path)
  return (JSON.parse(text) as Stage[]).map(compileStage)
}

async function connect({ options, files, network, underWay, clock, log }: Context) {
  if (options.kubeconfig === undefined) throw new StartError('--kubeconfig is required')
  const connection = await connectionFrom(await readKubeconfig(options.kubeconfig, files), {
    files,
  })
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  return createClient({ ...connection, network, underWay, dialect, clock, log, userAgent: name })
}

/** The stages of each kind. */
function byKind(stages: readonly CompiledStage[]) {
  const kinds: { readonly ref: KindRef; readonly stages: CompiledStage[] }[] = []
  for (const one of stages) {
    const ref = one.stage.resource
    const known = kinds.find((kind) => sameKind(kind.ref, ref))
    if (known === undefined) kinds.push({ ref, stages: [one] })
    else known.stages.push(one)
  }
  return kinds
}

interface Parts {
  readonly context: Context
  readonly client: Client
  readonly informers: InformerFactory
  readonly nodes: FakeNodes
  readonly recorder: EventRecorder
  readonly findKind: FindKind
  readonly startMs: number
}

/** Which objects of the kind are ours, and what else gives their keys. */
function scopeOf(resource: Resource, { client, informers, nodes }: Parts) {
  const { nodes: nodeKind, pods: podKind } = resourcesOf(client.dialect)
  if (resource === nodeKind)
    return { isOurs: (object: KubeObject) => nodes.isFake(object), more: [] }
  if (resource !== podKind) return { isOurs: () => true, more: [] }
  const pods = informers.informer<Pod>(podKind)
  const more: ControllerSource[] = [
    source(nodes.informer, ({ metadata }) => nodes.podsOn(metadata.name ?? '').map(keyOf)),
  ]
  nodes.followPods(pods)
  return { isOurs: (object: KubeObject) => nodes.hasPod(object), more }
}

function functionsFor(parts: Parts): (object: KubeObject) => TemplateFunctions {
  const { nodes, startMs, context } = parts
  const { clock } = context
  return (object) =>
    stageFunctions({
      now: () => clock.now(),
      startMs,
      version: `v${servedRelease}`,
      nodeAddresses: (nodeName) => nodes.addressesOf(nodeName),
      podAddresses: (nodeName) => nodes.podAddresses(object, nodeName),
      nodeName: object.kind === 'Node' ? (object.metadata.name ?? '') : '',
    })
}

/** Resolves with the kind once the cluster serves it; undefined when the signal aborts before. */
async function served(
  ref: KindRef,
  { findKind, context }: Parts,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const { log } = context
  const clock = backgroundOf(context.clock)
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const resource = await findKind(ref)
      if (resource !== undefined) return resource
    } catch (error) {
      log.warn('kinds cannot be discovered', { ...ref, why: messageOf(error) })
    }
    if (tries === 0) log.info('waiting for a kind that the cluster does not serve', { ...ref })
    await clock.sleep(backoffDelay(look, tries), signal).catch(() => {
      // The loop ends.
    })
  }
  return undefined
}

/** Plays the stages of one kind until the signal aborts. */
async function playKind(
  { ref, stages }: { readonly ref: KindRef; readonly stages: readonly CompiledStage[] },
  parts: Parts,
  signal: AbortSignal,
): Promise<void> {
  const { context, client, informers, recorder, findKind } = parts
  const { clock, log } = context
  const resource = await served(ref, parts, signal)
  if (resource === undefined) return
  const informer = informers.informer(resource)
  const { isOurs, more } = scopeOf(resource, parts)
  const player = new StagePlayer({
    stages,
    get: (key) => informer.get(key),
    isOurs,
    functionsFor: functionsFor(parts),
    writer: createStageWriter({ client, resource, findKind, signal }),
    recorder,
    clock,
    log: log.with({ kind: ref.kind }),
  })
  await runController(
    {
      name: `stages of ${resource.plural}`,
      informers: [source(informer), ...more],
      reconcile: (key) => player.reconcile(key),
      workers,
      clock,
      log,
    },
    signal,
  )
}

/** Until the signal aborts. Rejects with a StartError for what the flags say. */
export async function runStageProcess(context: Context): Promise<void> {
  const { options, signal: outer, clock, log } = context
  const stages = await readStages(context)
  const client = await connect(context)
  const informers = createInformerFactory(client, clock, log)
  const resources = resourcesOf(client.dialect)
  const nodes = new FakeNodes(informers.informer<Node>(resources.nodes), {
    address: options['node-ip'],
    range: options.cidr,
  })
  const events = client.resource(resources.events)
  const recorder = createEventRecorder({ events, component: name, clock, log })
  const findKind = createFindKind(client)
  const parts = { context, client, informers, nodes, recorder, findKind, startMs: clock.now() }
  // The part that ends first ends the rest.
  const stop = new AbortController()
  const signal = AbortSignal.any([outer, stop.signal])
  const isFake = (node: KubeObject | undefined): boolean => nodes.isFake(node)
  const leases = { client, nodes: nodes.informer, isFake, holder: name, clock, log }
  const running = [
    informers.run(signal),
    recorder.run(signal),
    runNodeLeases(leases, signal),
    ...byKind(stages).map((kind) => playKind(kind, parts, signal)),
  ]
  try {
    await Promise.race([informers.ready(), aborted(signal)])
    if (!signal.aborted) context.ready()
    await Promise.all(
      running.map((part) =>
        part.catch((error: unknown) => {
          stop.abort(error)
          throw error
        }),
      ),
    )
  } finally {
    stop.abort(new Error('stopping'))
    await Promise.allSettled(running)
    client.close()
  }
}
