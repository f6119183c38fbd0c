/** Parses an SVG strictly, and collects what it says and what it refers to. */
import { DOMParser, onErrorStopParsing, type Element } from '@xmldom/xmldom'

export interface ParsedSvg {
  /** Of every text element, in order, without tooltips. */
  readonly texts: readonly string[]
  readonly tooltips: readonly string[]
  /** Names of all elements. */
  readonly elements: ReadonlySet<string>
  /** Names of all attributes. */
  readonly attributes: ReadonlySet<string>
  readonly style: string
}

const own = (element: Element): string =>
  [...element.childNodes]
    .map((node) => (node.nodeType === 3 ? (node.nodeValue ?? '') : ''))
    .join('')

/** Throws for text that is not well-formed XML. */
export function parseSvg(text: string): ParsedSvg {
  const parser = new DOMParser({ onError: onErrorStopParsing })
  const document = parser.parseFromString(text, 'image/svg+xml')
  const all = [...document.getElementsByTagName('*')]
  const named = (name: string) => all.filter(({ localName }) => localName === name).map(own)
  return {
    texts: named('text'),
    tooltips: named('title'),
    elements: new Set(all.map(({ nodeName }) => nodeName)),
    attributes: new Set(all.flatMap((one) => [...one.attributes].map(({ name }) => name))),
    style: named('style').join('\n'),
  }
}
