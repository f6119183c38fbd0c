/** draw: paints the map of the cluster. It reads the model and changes nothing. */
import type { ClusterModel } from './cluster-model.ts'
import { podCentre, type Layout, type Tile } from './layout.ts'
import { liveliness, nodeTone, podTone, type Tone } from './tones.ts'

/** Colours of the style sheet, by token. */
export type Palette = Readonly<
  Record<Tone | 'ground' | 'raised' | 'line' | 'text' | 'glow', string>
>

export interface Scene {
  readonly context: CanvasRenderingContext2D
  readonly layout: Layout
  readonly model: ClusterModel
  readonly palette: Palette
  readonly nowMs: number
  /** The cluster's time. */
  readonly clusterMs: number
  readonly selected: string | undefined
  /** Visible part, in pixels of the map. */
  readonly top: number
  readonly bottom: number
}

function box(context: CanvasRenderingContext2D, tile: Tile, radius: number): void {
  context.beginPath()
  context.roundRect(tile.x + 0.5, tile.y + 0.5, tile.width - 1, tile.height - 1, radius)
}

function drawHead({ context, layout, model, palette, clusterMs }: Scene, tile: Tile): void {
  const node = model.nodes.get(tile.name)
  if (layout.head === 0 || node === undefined) return
  const { padding } = layout
  const pods = `${model.podsOf(tile.name).length}${layout.head > 30 ? ` of ${node.maxPods} pods` : ''}`
  const detail = [...node.trouble, ...(node.unschedulable ? ['cordoned'] : [])].join(', ') || pods
  context.fillStyle = palette.text
  context.font = '600 13px system-ui, sans-serif'
  context.textBaseline = 'top'
  context.fillText(
    tile.name,
    tile.x + padding + 14,
    tile.y + padding - 1,
    tile.width - 2 * padding - 14,
  )
  const age = model.heartbeatAgeMs(tile.name, clusterMs)
  // The heart beats once with each renewal.
  const beat = age === undefined ? 0 : Math.max(0, 1 - age / 400)
  context.fillStyle = palette[nodeTone(node)]
  context.beginPath()
  context.arc(tile.x + padding + 4, tile.y + padding + 6, 4 + 2.5 * beat, 0, 2 * Math.PI)
  context.fill()
  if (layout.head <= 30) return
  context.fillStyle = palette.dim
  context.font = '12px system-ui, sans-serif'
  context.fillText(detail, tile.x + padding, tile.y + padding + 17, tile.width - 2 * padding)
}

function drawPod(
  { context, layout, palette, model, nowMs }: Scene,
  at: { readonly x: number; readonly y: number },
  pod: { readonly key: string; readonly status: string; readonly ready: boolean },
): void {
  const side = Math.max(2, layout.pitch - (layout.pitch > 8 ? 3 : 1))
  const glow = model.glows.strength(pod.key, nowMs)
  if (glow > 0) {
    const grown = side + 5 * glow
    context.globalAlpha *= 0.55 * glow
    context.fillStyle = palette.glow
    context.fillRect(at.x - grown / 2, at.y - grown / 2, grown, grown)
    context.globalAlpha /= 0.55 * glow
  }
  context.fillStyle = palette[podTone(pod)]
  context.fillRect(at.x - side / 2, at.y - side / 2, side, side)
}

function drawTile(scene: Scene, tile: Tile, moving: ReadonlySet<string>): void {
  const { context, layout, model, palette, nowMs, clusterMs, selected } = scene
  const node = model.nodes.get(tile.name)
  if (node === undefined) return
  const radius = layout.head > 0 ? 6 : 3
  const glow = model.glows.strength(`node ${tile.name}`, nowMs)
  context.globalAlpha = liveliness(model.heartbeatAgeMs(tile.name, clusterMs), node.leaseMs)
  box(context, tile, radius)
  context.fillStyle = palette.raised
  context.fill()
  const isSelected = tile.name === selected
  const tone = nodeTone(node)
  const border = isSelected || glow > 0 ? palette.glow : palette.line
  context.strokeStyle = tone === 'good' ? border : palette[tone]
  context.lineWidth = isSelected ? 3 : 1 + glow
  context.stroke()
  drawHead(scene, tile)
  for (const [index, pod] of model.podsOf(tile.name).entries()) {
    if (!moving.has(pod.key)) drawPod(scene, podCentre(tile, index, layout), pod)
  }
  context.globalAlpha = 1
}

/** Pods on their way come from above the map, where those without a node are. */
function drawMoves(scene: Scene, moves: ReturnType<ClusterModel['moves']>): void {
  const { layout, model, top } = scene
  const tiles = new Map(layout.tiles.map((tile) => [tile.name, tile]))
  for (const { key, share } of moves) {
    const node = model.nodeOfPod(key) ?? ''
    const pods = model.podsOf(node)
    const index = pods.findIndex((pod) => pod.key === key)
    const [tile, pod] = [tiles.get(node), pods[index]]
    if (tile === undefined || pod === undefined) continue
    const end = podCentre(tile, index, layout)
    const eased = 1 - (1 - share) ** 3
    drawPod(scene, { x: end.x, y: top + (end.y - top) * eased }, pod)
  }
}

export function drawMap(scene: Scene): void {
  const { context, layout, model, nowMs, top, bottom } = scene
  context.clearRect(0, top, context.canvas.width, bottom - top)
  const moves = model.moves(nowMs)
  const moving = new Set(moves.map(({ key }) => key))
  for (const tile of layout.tiles) {
    if (tile.y + tile.height >= top && tile.y <= bottom) drawTile(scene, tile, moving)
  }
  drawMoves(scene, moves)
}
