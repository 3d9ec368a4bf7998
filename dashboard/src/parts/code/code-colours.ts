/**
 * Colors of code on a dark background; on a light one CodeMirror's own are used. All have a contrast of 4.5 or more.
 */
import { HighlightStyle } from '@codemirror/language';
import { tags } from '@lezer/highlight';

export const DARK_COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: '#d8a0f0' },
  { tag: [tags.propertyName, tags.attributeName], color: '#8ecbff' },
  { tag: [tags.string, tags.special(tags.string)], color: '#a5d6a7' },
  { tag: [tags.number, tags.bool, tags.null], color: '#ffc9a0' },
  { tag: tags.comment, color: '#a0a8b0', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className], color: '#ffe08a' },
]);
