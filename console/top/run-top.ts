/** runTop: the live screen from the first frame to the way out, whichever that is. */
import type { CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { formatYaml } from '../../cluster/yaml.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { aborted } from '../../components/component-base/aborted.ts'
import { importModule } from '../../components/component-base/import-module.ts'
import { humanDuration } from '../../components/machinery/values/duration.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { workerFile } from '../../components/component-base/worker-file.ts'
import { splitKey } from '../../components/machinery/objects/object.ts'
import type { Target } from '../../cluster/cli/target.ts'
import { ConnectionWatch } from './connection-watch.ts'
import { followCluster } from './follow-cluster.ts'
import { frameOf, pageHeight } from './frame.ts'
import { LiveTables, type PaneName } from './live-tables.ts'
import type { RowDetails } from './pane.ts'
import { PaneRows } from './pane-rows.ts'
import { paneOf } from './panes.ts'
import { createRedraw } from './redraw.ts'
import type { ShownScreen, TopScreen } from './top-screen.ts'
import { firstView, press, type DetailsView, type ScreenKey, type ViewState } from './view-state.ts'

/** How often it looks whether the cluster is lost. */
const lookMs = 100

export interface TopOptions {
  readonly target: Target
  readonly context: CommandContext
  /** The screen ends when the cluster has not answered for so long. */
  readonly lostAfterMs: number
}

/** Of an object as kubectl shows it, but for managed fields. */
async function readDetails(client: Client, details: RowDetails): Promise<DetailsView> {
  const top = 0
  if (details.kind === 'value') {
    return { title: details.title, lines: formatYaml(details.value).split('\n'), top }
  }
  const { resource, key } = details
  const title = `${resource} ${key}`
  try {
    const object = await client.resource(resourcesOf(client.dialect)[resource]).get(splitKey(key))
    const { managedFields: _, ...metadata } = object.metadata
    return { title, lines: formatYaml({ ...object, metadata }).split('\n'), top }
  } catch (error) {
    return { title, lines: [messageOf(error)], top }
  }
}

/** The view, what it is drawn from, and what its keys do. */
class TopView {
  readonly #options: TopOptions
  readonly #connection: ConnectionWatch
  readonly #rows = new Map<PaneName, PaneRows>()
  readonly #tables: LiveTables
  readonly #onWish: (wish: 'quit' | 'interrupt') => void
  readonly #onChange: () => void
  #view: ViewState = firstView()

  constructor(
    options: TopOptions,
    of: {
      readonly connection: ConnectionWatch
      readonly tables: LiveTables
      readonly onWish: (wish: 'quit' | 'interrupt') => void
      readonly onChange: () => void
    },
  ) {
    this.#options = options
    this.#connection = of.connection
    this.#tables = of.tables
    this.#onWish = of.onWish
    this.#onChange = of.onChange
  }

  draw(rows: number): readonly string[] {
    const { target, context } = this.#options
    const { loss } = this.#connection
    return frameOf({
      title: target.title,
      tables: this.#tables,
      view: this.#view,
      rowsOf: (pane) => this.#rowsOf(pane),
      nowMs: context.clock.now(),
      rows,
      colors: context.terminal.outColors,
      loss: loss === undefined ? undefined : { why: loss.why, forMs: this.#connection.lostForMs() },
    })
  }

  press(key: ScreenKey, rows: number): void {
    const { pane } = this.#view
    const shown = this.#rowsOf(pane)
    const keys = shown.map(paneOf(pane).keyOf)
    const height = pageHeight(this.#view, rows)
    const { view, wish } = press(this.#view, key, { keys, height })
    this.#view = view
    if (wish === 'details') this.#showDetails(shown, keys)
    else if (wish !== undefined) this.#onWish(wish)
    this.#onChange()
  }

  #rowsOf(name: PaneName): readonly unknown[] {
    const { clock } = this.#options.context
    let rows = this.#rows.get(name)
    if (rows === undefined) {
      rows = new PaneRows(name, clock)
      this.#rows.set(name, rows)
    }
    const context = { tables: this.#tables, nowMs: clock.now() }
    return rows.get(this.#view.panes[name].order, context)
  }

  #showDetails(rows: readonly unknown[], keys: readonly string[]): void {
    const { pane, panes } = this.#view
    const { selected } = panes[pane]
    const at = selected === undefined ? 0 : keys.indexOf(selected)
    if (at < 0 || at >= rows.length) return
    const reading: DetailsView = { title: `${pane} ${keys[at] ?? ''}`, lines: ['reading'], top: 0 }
    this.#view = { ...this.#view, details: reading }
    const { client } = this.#options.target
    void readDetails(client, paneOf(pane).detailsOf(rows[at])).then((details) => {
      // It may have been closed meanwhile.
      if (this.#view.details !== reading) return
      this.#view = { ...this.#view, details }
      this.#onChange()
    })
  }
}

/** Rejects when the cluster has not answered for as long as the user waits. */
async function lost(connection: ConnectionWatch, options: TopOptions, signal: AbortSignal) {
  const { target, lostAfterMs, context } = options
  for (;;) {
    const { loss } = connection
    if (loss !== undefined && connection.lostForMs() >= lostAfterMs) {
      const text = `${target.title} has not answered for ${humanDuration(lostAfterMs)}: ${loss.why}`
      throw new ClusterError('failed', text, { hint: 'see: skiff status --all' })
    }
    await context.clock.sleep(lookMs, signal)
  }
}

async function loadScreen(): Promise<(screen: ShownScreen) => TopScreen> {
  const url = workerFile(import.meta.url, 'top-screen').href
  const module = (await importModule(url)) as { openScreen: (screen: ShownScreen) => TopScreen }
  return module.openScreen
}

/** Resolves with the exit code when the user quits. The terminal is restored before it settles. */
export async function runTop(options: TopOptions): Promise<number> {
  const { context, target } = options
  const openScreen = await loadScreen()
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const redraw = createRedraw(context.clock)
  const tables = new LiveTables()
  tables.onChange = redraw.change
  const connection = new ConnectionWatch(context.clock, redraw.change)
  const wished = Promise.withResolvers<'quit' | 'interrupt'>()
  const view = new TopView(options, {
    connection,
    tables,
    onWish: wished.resolve,
    onChange: redraw.change,
  })
  const screen = openScreen({
    stdin: process.stdin,
    stdout: process.stdout,
    draw: (rows) => view.draw(rows),
    onKey: (key, rows) => view.press(key, rows),
    onChange: redraw.subscribe,
  })
  try {
    const following = followCluster({ client: target.client, tables, connection }, signal)
    const ended = await Promise.race([
      wished.promise,
      screen.closed.then(() => 'quit' as const),
      lost(connection, options, signal),
      following.then(() => aborted(signal)).then(() => 'interrupt' as const),
    ])
    return ended === 'quit' ? exitCodes.ok : exitCodes.interrupted
  } finally {
    stop.abort(new Error('the screen is closed'))
    redraw.stop()
    await screen.close()
  }
}
