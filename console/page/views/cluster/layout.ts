/** layout: where each node and each of its pods is drawn. Pure. */

/** What the map knows of a node: how many pods it has. */
export interface NodeToPlace {
  readonly name: string
  readonly pods: number
}

export interface Tile {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Layout {
  readonly tiles: readonly Tile[]
  readonly height: number
  /** Side of a pod's square with its gap. */
  readonly pitch: number
  /** Pods in a row of a tile. */
  readonly columns: number
  /** Height of a tile's head; 0 where a name would not fit. */
  readonly head: number
  readonly padding: number
}

/** From large to small: the first with which all tiles fit the height that is wanted. */
const sizes = [
  { width: 300, pitch: 24, head: 48, padding: 14, gap: 16 },
  { width: 220, pitch: 18, head: 44, padding: 10, gap: 12 },
  { width: 160, pitch: 14, head: 40, padding: 8, gap: 10 },
  { width: 116, pitch: 11, head: 34, padding: 6, gap: 8 },
  { width: 84, pitch: 8, head: 22, padding: 5, gap: 6 },
  { width: 56, pitch: 6, head: 0, padding: 4, gap: 4 },
  { width: 34, pitch: 4, head: 0, padding: 3, gap: 3 },
] as const

type Size = (typeof sizes)[number]

function place(nodes: readonly NodeToPlace[], width: number, size: Size): Layout {
  const { pitch, head, padding, gap } = size
  const across = Math.max(1, Math.floor((width + gap) / (size.width + gap)))
  const tileWidth = Math.floor((width - gap * (across - 1)) / across)
  const columns = Math.max(1, Math.floor((tileWidth - 2 * padding) / pitch))
  const tiles: Tile[] = []
  let y = 0
  for (let start = 0; start < nodes.length; start += across) {
    const row = nodes.slice(start, start + across)
    const most = Math.max(...row.map(({ pods }) => pods))
    const height = head + 2 * padding + Math.max(1, Math.ceil(most / columns)) * pitch
    for (const [index, { name }] of row.entries()) {
      tiles.push({ name, x: index * (tileWidth + gap), y, width: tileWidth, height })
    }
    y += height + gap
  }
  return { tiles, height: Math.max(0, y - gap), pitch, columns, head, padding }
}

/** Tiles in rows, as large as they may be to fit `height`; the smallest ones may take more. */
export function layoutNodes(
  nodes: readonly NodeToPlace[],
  { width, height }: { readonly width: number; readonly height: number },
): Layout {
  let last: Layout | undefined
  for (const size of sizes) {
    last = place(nodes, width, size)
    if (last.height <= height) break
  }
  return last as Layout
}

/** Centre of the pod at `index` of a tile. */
export function podCentre(
  tile: Tile,
  index: number,
  { pitch, columns, head, padding }: Layout,
): { readonly x: number; readonly y: number } {
  return {
    x: tile.x + padding + (index % columns) * pitch + pitch / 2,
    y: tile.y + head + padding + Math.floor(index / columns) * pitch + pitch / 2,
  }
}

/** What is at a point: a tile, and the index of the pod there, if any. */
export function findAt(
  layout: Layout,
  x: number,
  y: number,
): { readonly tile: Tile; readonly podIndex: number | undefined } | undefined {
  const tile = layout.tiles.find(
    (one) => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height,
  )
  if (tile === undefined) return undefined
  const { pitch, columns, head, padding } = layout
  const column = Math.floor((x - tile.x - padding) / pitch)
  const row = Math.floor((y - tile.y - head - padding) / pitch)
  const isInside = column >= 0 && column < columns && row >= 0
  return { tile, podIndex: isInside ? row * columns + column : undefined }
}

/** The tile that an arrow key leads to. */
export function neighbour(
  { tiles }: Layout,
  from: string | undefined,
  key: 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown',
): string | undefined {
  const index = tiles.findIndex(({ name }) => name === from)
  if (index < 0) return tiles[0]?.name
  if (key === 'ArrowLeft') return tiles[Math.max(0, index - 1)]?.name
  if (key === 'ArrowRight') return tiles[Math.min(tiles.length - 1, index + 1)]?.name
  const firstY = tiles[0]?.y
  const across = tiles.filter(({ y }) => y === firstY).length
  const next = key === 'ArrowUp' ? index - across : index + across
  return (tiles[next] ?? tiles[index])?.name
}
