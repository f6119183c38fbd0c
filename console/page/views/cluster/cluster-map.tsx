/** ClusterMap: the canvas with all nodes and pods. It draws when something changed, glows or ages; otherwise it rests. */
import { useEffect, useRef } from 'preact/hooks'
import type { ClusterModel } from './cluster-model.ts'
import { clusterNow } from '../../app/cluster-time.ts'
import { drawMap, type Palette } from './draw.ts'
import { findAt, layoutNodes, neighbour, type Layout } from './layout.ts'

/** Heartbeats age: once a second is enough to see it. */
const agingMs = 1000
/** A map of more nodes is drawn this often while things change: a frame of it takes a good part of a core without a graphics card. */
const nodesOfLargeMap = 200
const largeMapMs = 100

const tokens = [
  'ground',
  'raised',
  'line',
  'text',
  'dim',
  'accent',
  'good',
  'warn',
  'bad',
  'glow',
] as const

function readPalette(element: Element): Palette {
  const style = getComputedStyle(element)
  return Object.fromEntries(
    tokens.map((token) => [token, style.getPropertyValue(`--${token}`).trim()]),
  ) as Palette
}

/** Paints on the canvas until `stop`; `changed` asks for a new picture, `seen` for one without delay. */
function startPainter(
  canvas: HTMLCanvasElement,
  current: () => { readonly model: ClusterModel; readonly selected: string | undefined },
) {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  let frame: number | undefined
  let pause: number | undefined
  let paintedMs = -Infinity
  let layout: Layout = layoutNodes([], { width: 1, height: 1 })
  const paint = (): void => {
    frame = undefined
    const { model, selected } = current()
    const { clientWidth: width } = canvas.parentElement ?? canvas
    const height = Math.max(240, innerHeight - canvas.getBoundingClientRect().top - scrollY - 24)
    layout = layoutNodes(model.toPlace(), { width, height })
    const scale = devicePixelRatio
    const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(layout.height * scale)]
    if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
      canvas.width = pixelWidth
      canvas.height = pixelHeight
      canvas.style.width = `${width}px`
      canvas.style.height = `${layout.height}px`
    }
    context.setTransform(scale, 0, 0, scale, 0, 0)
    const nowMs = performance.now()
    paintedMs = nowMs
    const top = Math.max(0, -canvas.getBoundingClientRect().top)
    const view = { top, bottom: top + innerHeight, nowMs, clusterMs: clusterNow() }
    drawMap({ context, layout, model, palette: readPalette(canvas), selected, ...view })
    if (model.isMoving(nowMs)) changed()
  }
  const seen = (): void => {
    clearTimeout(pause)
    pause = undefined
    frame ??= requestAnimationFrame(paint)
  }
  const changed = (): void => {
    const gapMs = current().model.nodes.size > nodesOfLargeMap ? largeMapMs : 0
    const restMs = paintedMs + gapMs - performance.now()
    if (restMs <= 0) seen()
    else if (frame === undefined) pause ??= window.setTimeout(seen, restMs)
  }
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const watched = ['resize', 'scroll'] as const
  for (const name of watched) addEventListener(name, seen)
  dark.addEventListener('change', changed)
  const aging = setInterval(changed, agingMs)
  return {
    changed,
    seen,
    layout: () => layout,
    stop: (): void => {
      for (const name of watched) removeEventListener(name, seen)
      dark.removeEventListener('change', changed)
      clearInterval(aging)
      clearTimeout(pause)
      if (frame !== undefined) cancelAnimationFrame(frame)
    },
  }
}

interface ClusterMapProps {
  readonly model: ClusterModel
  /** Grows with each change of the model. */
  readonly version: number
  /** What a screen reader says of the whole. */
  readonly summary: string
  readonly selected: string | undefined
  readonly onSelect: (node: string | undefined, pod?: string) => void
}

const arrows = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'])

export function ClusterMap({ model, version, summary, selected, onSelect }: ClusterMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const painter = useRef<ReturnType<typeof startPainter> | undefined>(undefined)
  const current = useRef({ model, selected })
  current.current = { model, selected }
  useEffect(() => {
    if (canvas.current === null) return undefined
    painter.current = startPainter(canvas.current, () => current.current)
    return painter.current.stop
  }, [])
  useEffect(() => painter.current?.changed(), [version])
  useEffect(() => painter.current?.seen(), [selected])

  const onClick = ({ offsetX, offsetY }: MouseEvent): void => {
    const layout = painter.current?.layout()
    const found = layout && findAt(layout, offsetX, offsetY)
    const { podIndex } = found ?? {}
    const pod = podIndex === undefined ? undefined : model.podsOf(found?.tile.name ?? '')[podIndex]
    onSelect(found?.tile.name, pod?.key)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const layout = painter.current?.layout()
    if (event.key === 'Escape') onSelect(undefined)
    if (layout === undefined || !arrows.has(event.key)) return
    event.preventDefault()
    onSelect(neighbour(layout, selected, event.key as Parameters<typeof neighbour>[2]))
  }
  return (
    <canvas
      ref={canvas}
      class="map"
      role="application"
      aria-label={`Map of the cluster: ${summary}. Arrow keys choose a node, Escape none.`}
      tabIndex={0}
      onClick={onClick}
      onKeyDown={onKeyDown}
    />
  )
}
